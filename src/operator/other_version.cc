#include "operator/other_version.h"

#include "kube/served.h"

namespace mist::operator_ {

using apimachinery::GroupVersionKind;

const Error* OtherVersions::failure(const GroupVersionKind& kind, bool owned) const {
  const auto found = failures_.find({kind, owned});
  return found == failures_.end() ? nullptr : &found->second;
}

OtherVersion OtherVersions::find(const GroupVersionKind& kind, bool owned, const Error& failure,
                                 const Context& context) {
  if (failure.kind != ErrorKind::NotFound) return {};
  auto found = found_.find(kind);
  if (found == found_.end()) {
    OtherVersion other = look_up(kind, context);
    // The next object may be found.
    if (!other.is_served() && !other.is_nowhere) return other;
    found = found_.emplace(kind, std::move(other)).first;
  }
  failures_.try_emplace({kind, owned}, failure);
  return found->second;
}

OtherVersion OtherVersions::look_up(const GroupVersionKind& kind, const Context& context) const {
  const auto served = client_.resource_for(kind.group_kind(), "", context);
  if (!served.ok())
    return {.is_nowhere = kube::is_served_nowhere(client_, kind.group, served.error(), context)};
  if (served->gvk == kind) return {};
  return {.api_version = served->gvk.api_version()};
}

}  // namespace mist::operator_
