#include "action/managing_release.h"

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

void read_state(const Value& release, ManagingRelease& managing) {
  managing.interval = release.string_at({"spec", "interval"});
  const Value* const suspend = release.at_path({"spec", "suspend"});
  const Value* const stalled = apimachinery::condition_of(release, "Stalled");
  if (suspend != nullptr && *suspend == Value(true)) {
    managing.state = ManagingRelease::State::Suspended;
  } else if (is_true(stalled)) {
    managing.state = ManagingRelease::State::Stalled;
    managing.message = stalled->string_at("message");
  } else {
    managing.message = reconcile::release_words(release);
    managing.state =
        managing.message.empty() ? ManagingRelease::State::Ready : ManagingRelease::State::NotReady;
  }
}

}  // namespace

std::string ManagingRelease::display() const { return fmt::format("Release {}/{}", ns, name); }

std::string_view to_string(ManagingRelease::State state) {
  switch (state) {
    case ManagingRelease::State::Ready:
      return "ready";
    case ManagingRelease::State::NotReady:
      return "not ready";
    case ManagingRelease::State::Stalled:
      return "stalled";
    case ManagingRelease::State::Suspended:
      return "suspended";
    case ManagingRelease::State::Unknown:
      return "unknown";
  }
  return "unknown";
}

std::optional<ManagingRelease> managing_release_of(const Environment& environment,
                                                   const release::Anchor& anchor, const Context& context) {
  const std::string& named = anchor.head.kept_by;
  const auto slash = named.find('/');
  if (slash == std::string::npos) return std::nullopt;
  ManagingRelease managing{.ns = named.substr(0, slash), .name = named.substr(slash + 1)};
  const auto release = environment.client.get({releases(), managing.ns, managing.name}, context);
  if (release.ok()) {
    if (reconcile::release_named_by(*release) != std::pair(anchor.id.ns, anchor.id.name)) return std::nullopt;
    read_state(*release, managing);
  } else if (release.error().kind == ErrorKind::NotFound) {
    return std::nullopt;
  } else {
    managing.message = one_line(release.error().to_line());
  }
  return managing;
}

bool is_managed_by(const release::Head& head, const Environment& environment) {
  return head.kept_by == environment.managing_release && head.kept_by_uid == environment.managing_release_uid;
}

Status record_managing_release(const Environment& environment, const ReleaseState& state,
                               const Context& context) {
  if (environment.managing_release.empty() || !state.anchor || state.anchor->lock ||
      !state.anchor->damage.empty() || is_managed_by(state.anchor->head, environment))
    return {};
  release::Anchor anchor = *state.anchor;
  release::AnchorChange change;
  change.head = anchor.head;
  change.head->kept_by = environment.managing_release;
  change.head->kept_by_uid = environment.managing_release_uid;
  Status named = release::Store(environment.client).change_anchor(anchor, change, context);
  if (named.ok() || named.error().kind != ErrorKind::Conflict) return named;
  return release::as_anchor_moved(std::move(named).error());
}

void warn_of_managing_release(const Environment& environment, const ReleaseState& state, ManagedChange change,
                              const Context& context) {
  if (!environment.managing_release.empty() || !state.anchor) return;
  const std::optional<ManagingRelease> managing = managing_release_of(environment, *state.anchor, context);
  if (!managing || managing->state == ManagingRelease::State::Suspended) return;
  const std::string place = fmt::format("releases.mistletoe.dev {} -n {}", managing->name, managing->ns);
  const std::string_view interval =
      managing->interval.empty() ? reconcile::kReleaseInterval : std::string_view(managing->interval);
  if (change == ManagedChange::Uninstall)
    environment.events.warn(
        fmt::format("{} keeps the release {} and installs it again at its next look, within {}; to remove "
                    "both, delete the "
                    "Release: {}",
                    managing->display(), state.id.display(), interval,
                    release::kubectl_text(state.id, "delete " + place)));
  else
    environment.events.warn(fmt::format(
        "{} keeps the release {} and undoes this at its next look, within {}; change the Release instead, or "
        "suspend it first: {} --type merge -p '{{\"spec\":{{\"suspend\":true}}}}'",
        managing->display(), state.id.display(), interval,
        release::kubectl_text(state.id, "patch " + place)));
}

}  // namespace mist::action
