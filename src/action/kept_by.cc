#include "action/kept_by.h"

#include "apimachinery/conditions.h"
#include "base/one_line.h"
#include "base/text.h"
#include "reconcile/release_node.h"
#include "release/command_text.h"
#include "release/lock.h"
#include "release/store.h"

namespace mist::action {

using encoding::Value;

namespace {

kube::ResourceInfo releases() {
  return {{std::string(reconcile::kReleaseGroup), std::string(reconcile::kReleaseVersion),
           std::string(reconcile::kReleaseKind)},
          "releases",
          true,
          {}};
}

bool is_true(const Value* condition) {
  return condition != nullptr && condition->string_at("status") == "True";
}

void read_state(const Value& release, Keeper& keeper) {
  keeper.interval = release.string_at({"spec", "interval"});
  const Value* const suspend = release.at_path({"spec", "suspend"});
  const Value* const stalled = apimachinery::condition_of(release, "Stalled");
  if (suspend != nullptr && *suspend == Value(true)) {
    keeper.state = Keeper::State::Suspended;
  } else if (is_true(stalled)) {
    keeper.state = Keeper::State::Stalled;
    keeper.message = stalled->string_at("message");
  } else {
    keeper.message = reconcile::release_words(release);
    keeper.state = keeper.message.empty() ? Keeper::State::Ready : Keeper::State::NotReady;
  }
}

}  // namespace

std::string Keeper::display() const { return fmt::format("Release {}/{}", ns, name); }

std::string_view to_string(Keeper::State state) {
  switch (state) {
    case Keeper::State::Ready:
      return "ready";
    case Keeper::State::NotReady:
      return "not ready";
    case Keeper::State::Stalled:
      return "stalled";
    case Keeper::State::Suspended:
      return "suspended";
    case Keeper::State::Unknown:
      return "unknown";
  }
  return "unknown";
}

std::optional<Keeper> keeper_of(const Environment& environment, const release::Anchor& anchor,
                                const Context& context) {
  const std::string& named = anchor.head.kept_by;
  const auto slash = named.find('/');
  if (slash == std::string::npos) return std::nullopt;
  Keeper keeper{.ns = named.substr(0, slash), .name = named.substr(slash + 1)};
  const auto release = environment.client.get({releases(), keeper.ns, keeper.name}, context);
  if (release.ok()) {
    if (reconcile::release_named_by(*release) != std::pair(anchor.id.ns, anchor.id.name)) return std::nullopt;
    read_state(*release, keeper);
  } else if (release.error().kind == ErrorKind::NotFound) {
    return std::nullopt;
  } else {
    keeper.message = one_line(release.error().to_line());
  }
  return keeper;
}

bool is_kept_by(const release::Head& head, const Environment& environment) {
  return head.kept_by == environment.keeper && head.kept_by_uid == environment.keeper_uid;
}

Status record_keeper(const Environment& environment, const ReleaseState& state, const Context& context) {
  if (environment.keeper.empty() || !state.anchor || state.anchor->lock || !state.anchor->damage.empty() ||
      is_kept_by(state.anchor->head, environment))
    return {};
  release::Anchor anchor = *state.anchor;
  release::AnchorChange change;
  change.head = anchor.head;
  change.head->kept_by = environment.keeper;
  change.head->kept_by_uid = environment.keeper_uid;
  Status named = release::Store(environment.client).change_anchor(anchor, change, context);
  if (named.ok() || named.error().kind != ErrorKind::Conflict) return named;
  return release::as_anchor_moved(std::move(named).error());
}

void warn_of_keeper(const Environment& environment, const ReleaseState& state, KeptChange change,
                    const Context& context) {
  if (!environment.keeper.empty() || !state.anchor) return;
  const std::optional<Keeper> keeper = keeper_of(environment, *state.anchor, context);
  if (!keeper || keeper->state == Keeper::State::Suspended) return;
  const std::string place = fmt::format("releases.mistletoe.dev {} -n {}", keeper->name, keeper->ns);
  const std::string_view interval =
      keeper->interval.empty() ? reconcile::kReleaseInterval : std::string_view(keeper->interval);
  if (change == KeptChange::Uninstall)
    environment.events.warn(fmt::format(
        "{} keeps the release {} and installs it again at its next look, within {}; to remove "
        "both, delete the "
        "Release: {}",
        keeper->display(), state.id.display(), interval, release::kubectl_text(state.id, "delete " + place)));
  else
    environment.events.warn(fmt::format(
        "{} keeps the release {} and undoes this at its next look, within {}; change the Release instead, or "
        "suspend it first: {} --type merge -p '{{\"spec\":{{\"suspend\":true}}}}'",
        keeper->display(), state.id.display(), interval, release::kubectl_text(state.id, "patch " + place)));
}

}  // namespace mist::action
