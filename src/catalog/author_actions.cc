#include "catalog/author_actions.h"

#include "base/text.h"
#include "catalog/audit_words.h"
#include "catalog/web_answers.h"
#include "registry/reference.h"

namespace mist::catalog {
namespace {

constexpr std::size_t kLongestReason = 500;

// Of yanking and hiding, which terminals show, too.
Status check_reason(std::string_view why) {
  if (why.size() > kLongestReason)
    return error(ErrorKind::Invalid, "the reason has more than {} bytes", kLongestReason);
  if (escape_controls(why) != why || !is_valid_utf8(why))
    return error(ErrorKind::Invalid, "the reason isn't one line of plain text");
  return {};
}

std::string version_words(const std::string& package, const std::string& version) {
  return version.empty() ? package : package + " " + version;
}

}  // namespace

AuditEntry entry_of(const Actor& actor, std::string_view what, std::string subject) {
  return {.when = {},
          .who = actor.account.name,
          .what = std::string(what),
          .subject = std::move(subject),
          .peer = actor.peer};
}

Result<Project> AuthorActions::link(const Actor& actor, const Link& link) {
  if (!link.path.empty())
    if (const std::string why = registry::path_objection(link.path); !why.empty())
      return error(ErrorKind::Invalid, "path can't be that: {}", why);
  MIST_TRY_VOID(repository_url(link.url, dependencies_.allowed));
  MIST_TRY(Project made,
           dependencies_.store.add_project({.name = link.name,
                                            .owner = actor.account.name,
                                            .url = link.url,
                                            .path = link.path,
                                            .webhook_secret = SecretString(dependencies_.random.token(32))},
                                           entry_of(actor, kAuditLink, link_subject(link.name, link.url))));
  dependencies_.wake_poller();
  return made;
}

Status AuthorActions::unlink(const Actor& actor, const std::string& name) {
  MIST_TRY(const Project found, project(actor, name, Role::Administrator));
  return dependencies_.store.remove_project(found.name, entry_of(actor, "unlink", found.name));
}

Status AuthorActions::poll(const Actor& actor, const std::string& name) {
  MIST_TRY(const Project found, project(actor, name, Role::Moderator));
  MIST_TRY_VOID(dependencies_.store.ask_poll(found.name));
  dependencies_.wake_poller();
  return {};
}

Result<Project> AuthorActions::project(const Actor& actor, const std::string& name, Role or_at_least) {
  MIST_TRY(std::optional<Project> found, dependencies_.store.project(name));
  if (!found) return no_such("project", name);
  if (found->owner != actor.account.name && actor.account.role < or_at_least)
    return error(ErrorKind::Forbidden, "{} is a project of {}", found->name, found->owner);
  return *std::move(found);
}

// Whether its repository is linked still or not.
Status AuthorActions::may_change_versions(const Actor& actor, const std::string& package) {
  MIST_TRY(const std::optional<Store::Standing> found, dependencies_.store.standing(package));
  if (!found) return no_such("package", package);
  if (found->owner != actor.account.name && actor.account.role < Role::Moderator)
    return error(ErrorKind::Forbidden, "{} is a package of {}", package, found->owner);
  return {};
}

Status AuthorActions::yank(const Actor& actor, const std::string& package, const std::string& version,
                           const std::optional<std::string>& why) {
  MIST_TRY_VOID(may_change_versions(actor, package));
  if (why) MIST_TRY_VOID(check_reason(*why));
  MIST_TRY(const std::optional<Store::Standing> found, dependencies_.store.standing(package));
  const bool is_own = found && found->owner == actor.account.name;
  return dependencies_.store.yank(package, version, why,
                                  entry_of(actor, why ? "yank" : "unyank", package + " " + version),
                                  is_own ? Store::YankedBy::Author : Store::YankedBy::Moderator);
}

Status AuthorActions::test_again(const Actor& actor, const std::string& package, const std::string& version) {
  MIST_TRY_VOID(may_change_versions(actor, package));
  return dependencies_.store.test_again(package, version,
                                        entry_of(actor, "test again", package + " " + version));
}

Status AuthorActions::review(const Actor& actor, const std::string& package, const std::string& version,
                             const std::optional<std::string>& why_not) {
  MIST_TRY(const std::optional<Store::Standing> found, dependencies_.store.standing(package));
  if (!found) return no_such("package", package);
  if (actor.account.role < Role::Moderator)
    return error(ErrorKind::Forbidden, "{} can't review packages", actor.account.name)
        .with_because("only moderators review them");
  if (found->owner == actor.account.name)
    return error(ErrorKind::Forbidden, "you can't review your own package")
        .with_hint("ask another moderator");
  std::optional<std::string> reason;
  if (why_not) {
    reason = std::string(trim(*why_not));
    if (reason->empty())
      return error(ErrorKind::Invalid, "the reason is empty")
          .with_hint("its author sees it, and corrects the package by it");
    MIST_TRY_VOID(check_reason(*reason));
  }
  const std::string words = version_words(package, version);
  return dependencies_.store.review(package, version, reason,
                                    entry_of(actor, reason ? "reject version" : "approve version",
                                             reason ? fmt::format("{}: {}", words, *reason) : words));
}

Status AuthorActions::hide(const Actor& actor, const std::string& package, const std::string& version,
                           const std::string& why) {
  const std::string reason(trim(why));
  if (reason.empty())
    return error(ErrorKind::Invalid, "the reason is empty")
        .with_hint("its author and visitors of its page see it");
  MIST_TRY_VOID(check_reason(reason));
  const AuditEntry entry = entry_of(actor, version.empty() ? "hide package" : "hide version",
                                    fmt::format("{}: {}", version_words(package, version), reason));
  if (version.empty()) return dependencies_.store.hide_package(package, actor.account.name, reason, entry);
  return dependencies_.store.hide_version(package, version, reason, entry);
}

Status AuthorActions::show(const Actor& actor, const std::string& package, const std::string& version) {
  MIST_TRY(const std::optional<Store::Standing> found, dependencies_.store.standing(package));
  if (!found) return no_such("package", package);
  if (found->owner == actor.account.name)
    return error(ErrorKind::Forbidden, "you can't show your own package again")
        .with_hint("ask another moderator");
  const AuditEntry entry =
      entry_of(actor, version.empty() ? "show package" : "show version", version_words(package, version));
  if (!version.empty()) return dependencies_.store.show_version(package, version, entry);
  MIST_TRY_VOID(dependencies_.store.show_package(package, entry));
  dependencies_.wake_poller();
  return {};
}

Status AuthorActions::audit(const Actor& actor, std::string_view what, const std::string& subject) {
  return dependencies_.store.audit(entry_of(actor, what, subject));
}

}  // namespace mist::catalog
