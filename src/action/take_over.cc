#include "action/take_over.h"

#include <algorithm>
#include <set>

namespace mist::action {

using apply::PlannedAction;

namespace {

bool taken(const PlannedAction& action) { return action.adopting && !action.owner.empty(); }

}  // namespace

Result<std::optional<TakeOver>> TakeOver::begin(const Environment& environment, const Look& look,
                                                const Context& context) {
  if (!look.options.take_over_from || std::ranges::none_of(look.plan.writes, taken))
    return std::optional<TakeOver>();
  const release::ReleaseId& id = *look.options.take_over_from;
  const std::string frame = fmt::format("while taking over objects from release {}", id.display());
  auto other = read_release(environment, id, context);
  if (!other.ok()) return std::move(other).error().with_frame(frame);
  if (!other->anchor) return std::optional<TakeOver>();
  auto store = std::make_unique<release::Store>(environment.client);
  auto lock = release::ReleaseLock::acquire(
      {*store, environment.client, environment.clock, environment.random, environment.events}, *other->anchor,
      {},
      {environment.holder, fmt::format("take-over by {}", look.state.id.display()), environment.lock_term,
       environment.lock_wait},
      context);
  if (!lock.ok()) return std::move(lock).error().with_frame(frame);
  return std::optional<TakeOver>(TakeOver(*std::move(other), std::move(store), *std::move(lock)));
}

void TakeOver::let_go(const Environment& environment, const apply::Plan& plan,
                      const apply::Execution& execution) {
  std::set<apply::ObjectKey> gone;
  for (std::size_t i = 0; i < plan.writes.size(); ++i) {
    if (taken(plan.writes[i]) && execution.writes[i] == apply::Outcome::Done) gone.insert(plan.writes[i].key);
  }
  // Also after Ctrl-C.
  const Context brief = Context().with_timeout(std::chrono::seconds(30));
  const auto forget = [&](release::Revision& revision) -> Status {
    const auto removed = std::erase_if(
        revision.inventory, [&](const release::InventoryItem& item) { return gone.contains(item.key); });
    if (removed == 0) return {};
    if (lock_->lost()) return lock_->loss();
    MIST_TRY_VOID(lock_->check());
    return store_->finish_revision(lock_->anchor(), revision, brief);
  };
  const auto all = [&]() -> Status {
    if (other_.deployed) MIST_TRY_VOID(forget(*other_.deployed));
    for (release::Revision& revision : other_.unfinished) MIST_TRY_VOID(forget(revision));
    // Chunks of the inventories as they were; what stays goes with that release's next write.
    if (!gone.empty() && lock_->check()) (void)store_->sweep_chunks(other_.id, brief);
    return lock_->finish({});
  };
  if (const Status done = all(); !done.ok())
    environment.events.warn(
        fmt::format("the record of release {} still names objects that are no longer its own: {}; its next "
                    "upgrade mends that",
                    other_.id.display(), done.error().to_line()));
}

}  // namespace mist::action
