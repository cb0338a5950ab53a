#include "apply/plan/replacement.h"

#include <algorithm>

namespace mist::apply {

kube::Propagation replacement_propagation(const GroupKind& kind, bool selects_others) {
  if (kind == GroupKind{"apps", "StatefulSet"})
    return selects_others ? kube::Propagation::Foreground : kube::Propagation::Orphan;
  if (kind == GroupKind{"batch", "Job"}) return kube::Propagation::Foreground;
  return kube::Propagation::Background;
}

kube::Propagation replacement_propagation(const PlannedAction& action) {
  const bool selects_others = std::ranges::any_of(action.differences, [](const FieldDifference& difference) {
    return difference.path.starts_with(".spec.selector");
  });
  return replacement_propagation(action.key.group_kind, selects_others);
}

}  // namespace mist::apply
