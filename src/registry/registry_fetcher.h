#pragma once
// RegistryFetcher: packages that are named by a registry of the configuration, of any kind. Any thread, many
// processes.

#include <cstdint>
#include <optional>

#include "base/context.h"
#include "base/result.h"
#include "oci/reference.h"
#include "registry/chart_judge.h"
#include "registry/configured_registries.h"
#include "registry/fetched.h"
#include "registry/known_packages.h"
#include "registry/oci_fetcher.h"
#include "registry/oci_trust.h"
#include "registry/reference.h"
#include "registry/registry_view.h"

namespace mist::registry {

class RegistryFetcher {
 public:
  /// All outlive this.
  RegistryFetcher(const ConfiguredRegistries& configured, const KnownPackages& known, const OciFetcher& oci,
                  const ChartJudge& charts, OciTrust& trust);

  /// Whether a chart of a chart repository is judged here, or by the caller.
  enum class Judged : std::uint8_t { Here, Later };
  /// As Registries::fetch.
  Result<Fetched> fetch(const RegistryRef& wanted, const Context& context, Judged judged = Judged::Here,
                        const MayKeep& may_keep = {}) const;

  /// As ConfiguredRegistries::oci_reference; also Forbidden, where the trust policy has a rule for it that no
  /// OCI registry can keep.
  Result<std::optional<oci::Reference>> oci_reference(const PackageRef& reference) const;

 private:
  // Packages of a named OCI registry are judged by what they are: oci://….
  Status check_rule_is_for_git(const RegistryRef& reference, const oci::Repository& repository) const;
  Result<ReadPackage> read_as_named(RegistryView& view, const RegistryRef& reference,
                                    const Context& context) const;
  Status check_trust(RegistryView& view, const RegistryRef& reference, const PackageContent& content,
                     const crypto::Digest& digest, Judged judged, const Context& context) const;

  const ConfiguredRegistries& configured_;
  const KnownPackages& known_;
  const OciFetcher& oci_;
  const ChartJudge& charts_;
  OciTrust& trust_;
};

}  // namespace mist::registry
