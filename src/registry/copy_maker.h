#pragma once
// Makes copies for mirrors (address_copies.h): of packages in git and catalogs, of charts in chart
// repositories, and of the indexes of these registries. Any thread.

#include <optional>
#include <string>

#include "base/context.h"
#include "base/result.h"
#include "registry/address_copies.h"
#include "registry/configured_registries.h"
#include "registry/git_fetcher.h"
#include "registry/known_packages.h"
#include "registry/reference.h"
#include "registry/registry_fetcher.h"

namespace mist::registry {

class CopyMaker {
 public:
  /// All outlive this.
  CopyMaker(const ConfiguredRegistries& configured, const KnownPackages& known,
            const RegistryFetcher& registries, const GitFetcher& git)
      : configured_(configured), known_(known), registries_(registries), git_(git) {}

  /// As Registries::copy_of.
  Result<std::optional<AddressCopy>> of(const RegistryRef& reference, const Context& context) const;
  Result<std::optional<AddressCopy>> of(const GitRef& reference, const Context& context) const;
  /// As Registries::copy_of_index.
  Result<std::optional<AddressCopy>> index_of(const std::string& registry, const Context& context) const;

 private:
  const ConfiguredRegistries& configured_;
  const KnownPackages& known_;
  const RegistryFetcher& registries_;
  const GitFetcher& git_;
};

}  // namespace mist::registry
