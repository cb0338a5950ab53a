#include "catalog/admin_actions.h"

#include "catalog/audit_words.h"

namespace mist::catalog {
namespace {

Status check_other(const Actor& actor, const std::string& name) {
  if (actor.account.name != name) return {};
  return error(ErrorKind::Conflict, "you can't change the rights of your own account")
      .with_hint("another administrator or the command line does");
}

}  // namespace

Status AdminActions::set_role(const Actor& actor, const std::string& name, Role role) {
  MIST_TRY_VOID(check_other(actor, name));
  return accounts_.set_role(name, role, entry_of(actor, kAuditSetRole, role_subject(name, role)));
}

Status AdminActions::set_disabled(const Actor& actor, const std::string& name, bool disabled) {
  MIST_TRY_VOID(check_other(actor, name));
  return accounts_.set_disabled(name, disabled, entry_of(actor, disabled ? "disable" : "enable", name));
}

}  // namespace mist::catalog
