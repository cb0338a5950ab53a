#include "render/deployed_version.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "oci/tags.h"
#include "package/engine.h"
#include "registry/known_packages.h"

namespace mist::render {
namespace {

// The version that it is pinned by; nothing: it may have other bytes every day.
std::optional<std::string> version_of(const registry::PackageRef& reference) {
  if (const auto* const named = std::get_if<registry::RegistryRef>(&reference.form()))
    return registry::pin_key(*named);
  const auto* const oci = std::get_if<oci::Reference>(&reference.form());
  if (oci == nullptr || !oci::is_fixed_version(oci->tag)) return std::nullopt;
  return registry::pin_key(*oci);
}

std::optional<crypto::Digest> manifest_of(const registry::PackageRef& reference) {
  const auto* const oci = std::get_if<oci::Reference>(&reference.form());
  return oci != nullptr ? oci->digest : std::nullopt;
}

// The reference that gives exactly these bytes.
std::string exact(const registry::Fetched& fetched) {
  const auto* const named = std::get_if<registry::RegistryRef>(&fetched.resolved.form());
  if (named == nullptr) return fetched.resolved.display();
  registry::RegistryRef with_digest = *named;
  with_digest.digest = fetched.digest;
  return registry::PackageRef(std::move(with_digest)).display();
}

}  // namespace

bool names_bytes(const registry::PackageRef& wanted) {
  const auto* const named = std::get_if<registry::RegistryRef>(&wanted.form());
  return named != nullptr ? named->digest.has_value() : manifest_of(wanted).has_value();
}

Status check_deployed_version(const release::PackageInfo& deployed, const registry::PackageRef& wanted,
                              const registry::Fetched& fetched) {
  const std::optional<std::string> version = version_of(fetched.resolved);
  if (!version || names_bytes(wanted)) return {};
  const Result<registry::PackageRef> recorded = registry::PackageRef::parse(deployed.reference);
  if (!recorded || version_of(*recorded) != version) return {};
  if (deployed.digest == fetched.digest.str()) return {};
  const std::optional<crypto::Digest> was = manifest_of(*recorded), is = manifest_of(fetched.resolved);
  if (was && was == is) return {};
  const bool is_kustomization = deployed.engine == package::kKustomizeEngine;
  if (is_kustomization && !(was && is)) return {};
  return registry::other_bytes(*version, "it was deployed", is_kustomization ? was->str() : deployed.digest,
                               is_kustomization ? is->str() : fetched.digest.str())
      .with_hint(
          fmt::format("published versions don't change: ask the package's owner, or take another version; to "
                      "trust the new bytes, name them: {}",
                      exact(fetched)));
}

}  // namespace mist::render
