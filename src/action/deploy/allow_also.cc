#include "action/deploy/allow_also.h"

namespace mist::action {

void allow_also(apply::AllowedChanges& allowed, const apply::AllowedChanges& more) {
  allow_also(allowed.prune, more.prune);
  allowed.adopt |= more.adopt;
  allowed.adopt_from.insert(more.adopt_from.begin(), more.adopt_from.end());
  allowed.leave_fields |= more.leave_fields;
  allowed.replace |= more.replace;
  allowed.force_conflicts |= more.force_conflicts;
  allowed.keep_adopted |= more.keep_adopted;
}

void allow_also(apply::PruneRules& rules, const apply::PruneRules& more) {
  rules.delete_crds |= more.delete_crds;
  rules.delete_pvcs |= more.delete_pvcs;
  rules.delete_namespaces |= more.delete_namespaces;
  rules.left_crds.insert(more.left_crds.begin(), more.left_crds.end());
  rules.unused_crds |= more.unused_crds;
}

}  // namespace mist::action
