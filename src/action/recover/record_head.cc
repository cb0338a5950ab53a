#include "action/recover/record_head.h"

#include <algorithm>
#include <set>

namespace mist::action {

using apply::InventoryItem;

release::Head head_of(const release::Revision& revision, std::string updated,
                      const std::optional<release::Anchor>& before) {
  release::Head head;
  if (before) {
    head.kept_by = before->head.kept_by;
    head.kept_by_uid = before->head.kept_by_uid;
  }
  head.action = revision.action;
  head.updated = std::move(updated);
  head.package = revision.package.reference;
  head.package_version = revision.package.version;
  head.objects = static_cast<std::size_t>(
      std::ranges::count_if(revision.inventory, [](const InventoryItem& item) { return !item.retained; }));
  return head;
}

std::vector<std::string> group_kinds_of(const std::vector<InventoryItem>& inventory) {
  std::set<std::string> kinds;
  for (const InventoryItem& item : inventory) kinds.insert(apimachinery::to_string(item.key.group_kind));
  return {kinds.begin(), kinds.end()};
}

std::vector<std::string> namespaces_of(const std::vector<InventoryItem>& inventory, const std::string& own) {
  std::set<std::string> names;
  for (const InventoryItem& item : inventory) {
    if (!item.key.ns.empty() && item.key.ns != own) names.insert(item.key.ns);
  }
  return {names.begin(), names.end()};
}

release::AnchorChange as_it_was(const ReleaseState& state) {
  const std::vector<InventoryItem> owned = state.owned();
  return {.head = state.anchor->head,
          .lock = std::optional<release::Lock>(),
          .group_kinds = group_kinds_of(owned),
          .additional_namespaces = namespaces_of(owned, state.id.ns)};
}

bool is_refusal(const Error& failure) {
  return failure.kind == ErrorKind::Forbidden || failure.kind == ErrorKind::Invalid;
}

}  // namespace mist::action
