#include "action/environment.h"

#include <array>
#include <map>

namespace mist::action {

using release::InventoryItem;
using release::Revision;

std::vector<InventoryItem> ReleaseState::owned() const {
  std::map<apimachinery::ObjectKey, InventoryItem> items;
  const auto add = [&](const Revision& revision) {
    for (const InventoryItem& item : revision.inventory) {
      const auto known = items.find(item.key);
      // A create whose outcome nobody recorded doesn't forget the uid that an earlier revision knew.
      if (known != items.end() && item.uid.empty() && !item.replacing) continue;
      items.insert_or_assign(item.key, item);
    }
  };
  if (deployed) add(*deployed);
  for (const Revision& revision : unfinished) add(revision);
  std::vector<InventoryItem> result;
  for (auto& [key, item] : items) result.push_back(std::move(item));
  return result;
}

int ReleaseState::next_revision() const {
  if (!anchor) return 0;
  const int latest = anchor->head.latest;
  // A run that died between locking and storing its revision left a number that nobody used.
  const bool stored =
      (deployed && deployed->number == latest) || (!unfinished.empty() && unfinished.back().number == latest);
  return stored ? latest + 1 : std::max(latest, 0);
}

Result<ReleaseState> read_release(const Environment& environment, const release::ReleaseId& id,
                                  const Context& context) {
  release::Store store(environment.client);
  ReleaseState state;
  state.id = id;
  MIST_TRY(state.anchor, store.read_anchor(id, context));
  if (!state.anchor) {
    std::array<std::byte, 32> seed;
    environment.random.fill(seed);
    state.birth.seed = SecretString(std::string(reinterpret_cast<const char*>(seed.data()), seed.size()));
    state.birth.frozen_clock = format_time(environment.clock.now());
    return state;
  }
  state.birth = {state.anchor->seed, state.anchor->frozen_clock};
  const release::Head& head = state.anchor->head;
  if (head.deployed >= 0) {
    MIST_TRY(state.deployed, store.read_revision(id, head.deployed, context));
    // Uninstalling deletes the revisions once all that they own is gone, and the anchor last.
    if (!state.deployed && head.status != release::RevisionStatus::Uninstalling) {
      Error failure = error(ErrorKind::Internal, "revision {} of release {} is missing from its record",
                            head.deployed, id.display());
      failure.hint = fmt::format("restore the Secret {}/{} from a backup", id.ns,
                                 release::revision_name(id, head.deployed));
      return failure;
    }
  }
  for (int number = head.deployed + 1; number <= head.latest; ++number) {
    MIST_TRY(std::optional<Revision> revision, store.read_revision(id, number, context));
    if (revision) state.unfinished.push_back(*std::move(revision));
  }
  return state;
}

}  // namespace mist::action
