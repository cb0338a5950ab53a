#pragma once
// The registries of the user's configuration: found, opened, added, removed. The file is read again each
// time. Any thread, many processes.

#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/context.h"
#include "base/event.h"
#include "base/fs.h"
#include "base/result.h"
#include "config/config.h"
#include "config/paths.h"
#include "oci/reference.h"
#include "registry/git.h"
#include "registry/oci_session.h"
#include "registry/reference.h"
#include "registry/registry_view.h"
#include "registry/repository_health.h"

namespace mist::registry {

class AddressCopies;

/// The address by which mirrors name copies of a registry's packages (address_name.h), with what credentials
/// it has; empty: it is an OCI registry, or a directory.
std::string copied_address(const config::Registry& registry);

class ConfiguredRegistries {
 public:
  /// All outlive this. `web`: how chart repositories are reached.
  ConfiguredRegistries(FileSystem& files, EventSink& events, const config::Paths& paths, const Git& git,
                       const OciAccess& web);

  /// Warnings of the file are said once, however often it is read. Errors: of config::Config::load.
  Result<config::Config> load() const;
  /// Of the file, within Paths::cache_limit; where it can't be read, those of no file.
  config::CacheLimits cache_limits() const;
  /// Of the file: relative paths in it begin there.
  Path directory() const { return paths_.config_file.parent_path(); }

  /// Registries::configured_hosts.
  Result<std::set<std::string>> hosts() const;
  /// Where the repositories of an OCI registry that is configured are; nothing: it is of another kind.
  /// `rest`: what follows the name in the reference. NotFound: there is no such registry.
  Result<std::optional<std::string>> oci_url(const std::string& name, std::string_view rest = {}) const;
  /// The reference in terms of an OCI registry; nothing: it is of a registry of another kind. Same errors.
  Result<std::optional<oci::Reference>> oci_reference(const PackageRef& reference) const;
  /// From now on, registries are opened with their mirrors before them. `copies` outlives this.
  void read_through(const AddressCopies& copies) { copies_ = &copies; }
  /// Errors: NotFound (no such registry), of open_view. The references of this outlive the view.
  Result<std::unique_ptr<RegistryView>> open(const std::string& name) const;

  /// Errors: Invalid (URL), Conflict (name), of config::edit.
  Status add(config::Registry registry, const Context& context) const;
  /// Errors: NotFound, of config::edit.
  Status remove(const std::string& name, const Context& context) const;

 private:
  FileSystem& files_;
  EventSink& events_;
  const config::Paths& paths_;
  const Git& git_;
  const OciAccess& web_;
  const AddressCopies* copies_ = nullptr;
  mutable RepositoryHealth health_;
  mutable std::atomic<bool> warned_ = false;
};

}  // namespace mist::registry
