#pragma once
// GitFetcher: packages and bases in git repositories that no registry names (git+https://…). A commit that
// was fetched before needs no network; mirrors of their address are asked first. Any thread, many processes.
//
// Git holds what it receives against the commit. A copy in a mirror only says which commit it is of, so it is
// held against a digest: of the reference, of a lock, or of the first use here. Where there is none, it is
// taken with a warning, until git itself, or a digest, says which bytes are right.

#include <mutex>
#include <optional>
#include <set>
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
    std::string mirror;  ///< that has the copy; empty: git itself gave it
  };
  Result<Read> read(const GitRef& reference, const Context& context, std::string_view engine) const;
  Result<std::optional<Read>> read_copy(const GitRef& reference, const Context& context,
                                        std::string_view engine) const;
  // A base as it was read, from git or a mirror.
  struct ReadBase {
    PackageTree tree;
    std::string commit;
    bool on_this_machine = false;
    std::string mirror;  ///< as in Read
  };
  Result<ReadBase> read_base(const BaseReference& base, const Context& context) const;
  Result<std::optional<ReadBase>> base_copy(const BaseReference& base, const Context& context) const;
  // Holds it against the lock and against its first use here, and pins it. Errors: Conflict.
  Status check_base(const BaseReference& base, const ReadBase& read, const crypto::Digest& digest) const;
  // Whether git is asked for what is in the cache already: a copy, which nothing proved.
  Result<bool> may_be_proven(const GitRef& reference, const Pin& pin) const;
  // Errors: Conflict (other bytes than before).
  Status keep_pin(const GitRef& reference, const std::optional<Pin>& before, Pin now) const;
  // `origin`: of the copy, as its pin has it.
  void warn_of_wrong_copy(const std::string& what, const std::string& origin) const;
  // Once for each copy. `what`: as people name it, `hint`: what would prove it.
  void warn_unproven(const std::string& what, const std::string& mirror, const std::string& hint) const;
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
  mutable std::mutex mutex_;
  mutable std::set<std::string> warned_;  // of copies that nothing proves
};

}  // namespace mist::registry
