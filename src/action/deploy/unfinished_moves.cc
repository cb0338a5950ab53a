#include "action/deploy/unfinished_moves.h"

#include <algorithm>
#include <map>
#include <set>

#include "apply/plan/observe.h"
#include "apply/plan/plan.h"
#include "apply/reserved_metadata.h"
#include "base/parallel.h"
#include "kube/api_failure.h"

namespace mist::action {

using apply::InventoryItem;
using release::ReleaseId;

namespace {

bool is_same(const InventoryItem& one, const InventoryItem& other) {
  return one.key == other.key || (!one.uid.empty() && one.uid == other.uid);
}

// Whether an object is its source's still, by its label.
enum class Label : std::uint8_t { OfSource, OfAnother, Gone, Unknown };

Label label_of(const Environment& environment, const ReleaseId& source, const InventoryItem& item,
               const Context& context) {
  const auto resource = apply::resource_of(environment.client, item, context);
  if (!resource.ok()) return Label::Unknown;
  if (!*resource) return Label::Gone;
  const auto live = environment.client.get({**resource, item.key.ns, item.key.name}, context);
  if (!live.ok()) return kube::is_absent(live.error()) ? Label::Gone : Label::Unknown;
  return apply::live_owner_of(*live).part_of == apply::apply_set_id(source) ? Label::OfSource
                                                                            : Label::OfAnother;
}

// Both may say that they took it from the other. An object that is gone is nobody's to decide then.
bool took_back(const ReleaseState& source, const ReleaseId& taker, const InventoryItem& item) {
  const release::Revision* const deployed = settled_revision(source);
  return deployed != nullptr && std::ranges::any_of(deployed->inventory, [&](const InventoryItem& each) {
           return is_same(each, item) && each.taken_from == taker.display();
         });
}

// The releases whose ownership labels are on objects that this one's record names.
std::set<ReleaseId> holders(const Environment& environment, const ReleaseState& state,
                            const Context& context) {
  std::set<ReleaseId> ids;
  std::map<apimachinery::ObjectKey, std::string> unread;
  std::map<apimachinery::ObjectKey, apply::Unconverted> unconverted;
  const auto live =
      apply::observe(environment.client, state.id, {}, state.owned(), context,
                     {.unreachable = &unread, .forbidden = &unread, .unconverted = &unconverted});
  if (!live.ok()) {
    environment.events.debug(fmt::format("the objects of release {} can't be read: {}", state.id.display(),
                                         live.error().to_line()));
    return ids;
  }
  for (const auto& [key, object] : *live) {
    const apply::LiveOwner owner = apply::live_owner_of(object.value);
    auto id = ReleaseId::parse(owner.release);
    if (!id || *id == state.id || apply::apply_set_id(*id) != owner.part_of) continue;
    id->cluster_words = state.id.cluster_words;
    id->called_as = state.id.called_as;
    ids.insert(*std::move(id));
  }
  return ids;
}

}  // namespace

const release::Revision* settled_revision(const ReleaseState& state) {
  if (!state.unfinished.empty() && state.unfinished.back().status == release::RevisionStatus::Deployed)
    return &state.unfinished.back();
  return state.deployed ? &*state.deployed : nullptr;
}

Result<std::vector<InventoryItem>> still_named(const Environment& environment, const ReleaseId& taker,
                                               const std::vector<InventoryItem>& inventory,
                                               const ReleaseState& source, const Context& context) {
  std::vector<InventoryItem> found;
  const std::vector<InventoryItem> theirs = source.owned();
  for (const InventoryItem& item : inventory) {
    if (item.taken_from != source.id.display()) continue;
    const auto known =
        std::ranges::find_if(theirs, [&](const InventoryItem& each) { return is_same(each, item); });
    if (known != theirs.end() && known->taken_from != taker.display()) found.push_back(item);
  }
  std::vector<char> untold(found.size(), 0);
  MIST_TRY_VOID(parallel_for(found.size(), 16, [&](std::size_t i) -> Status {
    const Label label = label_of(environment, source.id, found[i], context);
    const bool gone = label == Label::Gone && !took_back(source, taker, found[i]);
    untold[i] = label == Label::OfAnother || gone ? 1 : 0;
    return context.check();
  }));
  std::size_t at = 0;
  std::erase_if(found, [&](const InventoryItem&) { return untold[at++] == 0; });
  return found;
}

Result<std::vector<UnfinishedMove>> unfinished_moves_to(const Environment& environment,
                                                        const ReleaseState& state, const Context& context) {
  std::vector<UnfinishedMove> moves;
  const release::Revision* const deployed = settled_revision(state);
  if (deployed == nullptr) return moves;
  std::set<ReleaseId> sources;
  for (const InventoryItem& item : deployed->inventory) {
    auto id = ReleaseId::parse(item.taken_from);
    if (!id || *id == state.id) continue;
    id->cluster_words = state.id.cluster_words;
    id->called_as = state.id.called_as;
    sources.insert(*std::move(id));
  }
  for (const ReleaseId& id : sources) {
    MIST_TRY(const ReleaseState source, read_release(environment, id, context, LostRevision::Allowed));
    if (!source.anchor || is_uninstalling(source)) continue;
    MIST_TRY(std::vector<InventoryItem> items,
             still_named(environment, state.id, deployed->inventory, source, context));
    if (!items.empty()) moves.push_back({.from = id, .to = state.id, .items = std::move(items)});
  }
  return moves;
}

Result<std::vector<UnfinishedMove>> unfinished_moves_from(const Environment& environment,
                                                          const ReleaseState& state, const Context& context) {
  std::vector<UnfinishedMove> moves;
  for (const ReleaseId& id : holders(environment, state, context)) {
    const auto taker = read_release(environment, id, context, LostRevision::Allowed);
    if (!taker.ok()) {
      environment.events.debug(
          fmt::format("release {} can't be read: {}", id.display(), taker.error().to_line()));
      continue;
    }
    if (!taker->anchor || is_uninstalling(*taker)) continue;
    const release::Revision* const deployed = settled_revision(*taker);
    if (deployed == nullptr) continue;
    MIST_TRY(std::vector<InventoryItem> items,
             still_named(environment, id, deployed->inventory, state, context));
    if (items.empty()) continue;
    moves.push_back({.from = state.id,
                     .to = id,
                     .items = std::move(items),
                     .head_behind = !taker->deployed || taker->deployed->number != deployed->number});
  }
  return moves;
}

bool forget(std::vector<InventoryItem>& inventory, const UnfinishedMove& move) {
  return std::erase_if(inventory, [&](const InventoryItem& item) {
           return std::ranges::any_of(move.items,
                                      [&](const InventoryItem& each) { return is_same(each, item); });
         }) > 0;
}

}  // namespace mist::action
