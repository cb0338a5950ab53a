#pragma once
// GitFetcher: packages and bases in git repositories that no registry names (git+https://…). A commit that
// was fetched before needs no network; mirrors of their address are asked first. Any thread, many processes.

#include <optional>
#include <string>
#include <string_view>

#include "base/context.h"
#include "base/event.h"
#include "base/fs.h"
#include "base/result.h"
#include "config/paths.h"
#include "registry/address_copies.h"
#include "registry/fetched.h"
#include "registry/git.h"
#include "registry/git_url.h"
#include "registry/known_packages.h"
#include "registry/reference.h"
#include "registry/submodules.h"

namespace mist::registry {

class GitFetcher {
 public:
  /// All outlive this.
  GitFetcher(FileSystem& files, EventSink& events, const config::Paths& paths, const Git& git,
             const KnownPackages& known, const AddressCopies& copies);

  /// As Registries::fetch.
  Result<Fetched> fetch(const GitRef& reference, const Context& context, std::string_view engine) const;
  /// As Registries::fetch_base.
  Result<FetchedBase> fetch_base(const BaseReference& base, const Context& context) const;

 private:
  // A package as it was read, from git or a mirror.
  struct Read {
    PackageContent content;
    std::string commit, object, origin;
  };
  Result<Read> read(const GitRef& reference, const Context& context, std::string_view engine) const;
  Result<std::optional<Read>> read_copy(const GitRef& reference, const Context& context,
                                        std::string_view engine) const;
  Result<std::optional<FetchedBase>> base_copy(const BaseReference& base, const Context& context) const;
  // As it is now: a commit that was fetched before needs no network.
  Result<RepositoryAtRef> at_ref(const std::string& url, const std::string& ref,
                                 const BaseReference::Judge& judge, const GitUrl* parent,
                                 const Context& context) const;

  FileSystem& files_;
  EventSink& events_;
  Path snapshots_;
  const Git& git_;
  const KnownPackages& known_;
  const AddressCopies& copies_;
};

}  // namespace mist::registry
