#pragma once
// Changes that an account may make: to projects, and to versions of them. The REST API and the pages call it
// with the account that they have authenticated; the rules of who may do what stand here, and each change is
// written to the audit log together with it. Any thread. Errors: Forbidden, NotFound, Conflict, Invalid, and
// those of the store.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "catalog/model.h"
#include "catalog/poller.h"
#include "catalog/store.h"

namespace mist::catalog {

/// The account that does something, and from where.
struct Actor {
  Account account = {};
  std::string peer = {};  ///< IP address
};

/// The audit log's entry of something that the actor did.
AuditEntry entry_of(const Actor& actor, std::string_view what, std::string subject);

class AuthorActions {
 public:
  struct Dependencies {
    Store& store;
    Random& random;
    std::function<void()> wake_poller;
    Repositories allowed = Repositories::Public;
  };
  explicit AuthorActions(Dependencies dependencies) : dependencies_(std::move(dependencies)) {}

  struct Link {
    std::string name = {}, url = {}, path = {};
  };
  /// The new project; its webhook's secret is shown now, and never again.
  Result<Project> link(const Actor& actor, const Link& link);
  Status unlink(const Actor& actor, const std::string& name);
  Status poll(const Actor& actor, const std::string& name);
  /// Of the actor, or of anybody where the actor's role is enough.
  Result<Project> project(const Actor& actor, const std::string& name, Role or_at_least);

  // Of the package's owner, whose repository may be unlinked, or of moderators.
  /// A reason (it may be empty), or nothing: then it is no longer yanked.
  Status yank(const Actor& actor, const std::string& package, const std::string& version,
              const std::optional<std::string>& why);
  Status test_again(const Actor& actor, const std::string& package, const std::string& version);

  /// Of moderators. A reason of one line, which the author sees, rejects it; without one it is published.
  /// Forbidden: the package is the actor's own.
  Status review(const Actor& actor, const std::string& package, const std::string& version,
                const std::optional<std::string>& why_not);

  // Of moderators, with a reason of one line that everybody sees. `version` empty: the whole package.
  Status hide(const Actor& actor, const std::string& package, const std::string& version,
              const std::string& why);
  /// Forbidden: the package is the actor's own.
  Status show(const Actor& actor, const std::string& package, const std::string& version);

  /// Of something that is no change of a store.
  Status audit(const Actor& actor, std::string_view what, const std::string& subject);

 private:
  Status may_change_versions(const Actor& actor, const std::string& package);

  Dependencies dependencies_;
};

}  // namespace mist::catalog
