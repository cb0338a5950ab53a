#include "action/recover/rollback.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <span>

#include "action/deploy/adopted.h"
#include "base/text.h"
#include "kube/api_failure.h"
#include "release/command_text.h"
#include "release/history.h"
#include "render/recorded_options.h"

namespace mist::action {

using release::RevisionStatus;
using release::RevisionSummary;

namespace {

std::string choices(const std::vector<RevisionSummary>& good, const release::ReleaseId& id) {
  constexpr std::size_t kShown = 10;
  if (good.empty())
    return fmt::format("no revision of it ever became good; {} shows them",
                       release::command_text("history", id));
  std::vector<std::string> names;
  for (const RevisionSummary& revision : good | std::views::reverse) {
    if (names.size() == kShown) {
      names.emplace_back("…");
      break;
    }
    // A directory is the same for all of them; a reference says the version itself.
    const std::string& version = revision.package_version;
    const bool says_it = version.empty() || revision.package.ends_with(":" + version);
    names.push_back(fmt::format("v{} ({})", revision.number, says_it ? revision.package : version));
  }
  return fmt::format("choose among {}; {} tells more", join(names, ", "),
                     release::command_text("history", id));
}

bool has_only(const std::vector<RevisionSummary>& good, int number) {
  return good.size() == 1 && good.front().number == number;
}

// For somebody who named a revision that there is no way back to.
std::string others(const std::vector<RevisionSummary>& good, int newest, const release::ReleaseId& id) {
  if (!has_only(good, newest)) return choices(good, id);
  return fmt::format("it has only v{}, which is deployed now; {} tells more", newest,
                     release::command_text("history", id));
}

// For somebody who wanted the revision before `newest`.
std::string way_out(const std::vector<RevisionSummary>& good, int newest, const release::ReleaseId& id) {
  if (!has_only(good, newest)) return choices(good, id);
  return fmt::format("{} removes the release; {} shows its revisions", release::command_text("uninstall", id),
                     release::command_text("history", id));
}

// The newest revision of which there may be anything in the cluster. A rollback that died before it stored
// its revision wrote nothing: what was to be gone back from then is that still.
int newest_begun(const release::Head& head, const std::vector<RevisionSummary>& kept) {
  if (kept.empty() || (head.action != "rollback" && head.action != "recover")) return head.latest;
  return std::min(head.latest, std::ranges::max(kept, {}, &RevisionSummary::number).number);
}

// Whether it installs or upgrades, or finishes a run that did: recoveries have the hooks of what they finish.
bool brings_something_new(const release::Revision& revision) {
  const auto verb = render::RecordedOptions::from_value(revision.options).hooks;
  return verb == apply::HookVerb::Install || verb == apply::HookVerb::Upgrade;
}

// The revision that the newest one was to go back to, if that is a rollback that failed or never ended, or
// was to finish one.
std::optional<int> unfinished_target(const ReleaseState& state, int newest) {
  int number = newest;
  bool forward = false;
  for (const release::Revision& each : state.unfinished | std::views::reverse) {
    if (each.number != number) continue;
    number = each.restores;
    forward = brings_something_new(each);
  }
  // The revision that was to be finished may be trimmed by now, or damaged.
  const bool lost = number > state.anchor->head.deployed && forward;
  return number < 0 || number == newest || lost ? std::nullopt : std::optional(number);
}

// The revision to go back to, or why there is none.
Result<int> target(const ReleaseState& state, const std::vector<RevisionSummary>& kept,
                   std::optional<int> to) {
  const release::Head& head = state.anchor->head;
  const int newest = newest_begun(head, kept);
  if (!to) to = unfinished_target(state, newest);
  std::vector<RevisionSummary> good;
  std::ranges::copy_if(kept, std::back_inserter(good), [](const RevisionSummary& revision) {
    return revision.status == RevisionStatus::Deployed;
  });
  std::ranges::sort(good, {}, &RevisionSummary::number);
  if (!to) {
    const auto before =
        std::ranges::find_if(good | std::views::reverse,
                             [&](const RevisionSummary& revision) { return revision.number < newest; });
    if (before != std::ranges::rend(good)) return before->number;
    const bool is_first =
        std::ranges::none_of(kept, [&](const RevisionSummary& revision) { return revision.number < newest; });
    return error(ErrorKind::Conflict, "release {} has no {} v{} to go back to", state.id.display(),
                 is_first ? "revision before" : "good revision before", newest)
        .with_hint(way_out(good, newest, state.id));
  }
  const auto known = std::ranges::find(kept, *to, &RevisionSummary::number);
  if (known == kept.end()) {
    const bool was = *to <= head.latest;
    Error failure =
        was ? error(ErrorKind::NotFound, "revision v{} of release {} is not kept any more", *to,
                    state.id.display())
            : error(ErrorKind::NotFound, "release {} has no revision v{}", state.id.display(), *to);
    failure.hint = others(good, newest, state.id);
    return failure;
  }
  if (known->status != RevisionStatus::Deployed)
    return error(ErrorKind::Conflict, "revision v{} of release {} {}, so it is nothing to go back to", *to,
                 state.id.display(), known->status == RevisionStatus::Failed ? "failed" : "did not end")
        .with_because(known->message)
        .with_hint(others(good, newest, state.id));
  return *to;
}

// The release's objects whose adoption is gone back over. By uid too: an object may have another API group by
// now.
std::vector<apply::InventoryItem> adopted_since(const release::Revision& revision,
                                                const ReleaseState& state) {
  std::set<apimachinery::ObjectKey> known;
  std::set<std::string> uids;
  for (const apply::InventoryItem& item : revision.inventory) {
    if (apply::is_only_named(item)) continue;
    known.insert(item.key);
    uids.insert(item.uid);
  }
  // The inventory forgot objects that another release had for a while.
  for (const release::RenderedObject& each : revision.objects) {
    apimachinery::ObjectKey key = each.object.key();
    known.insert(key);
    if (key.ns.empty()) key.ns = state.id.ns;
    known.insert(std::move(key));
  }
  std::vector<apply::InventoryItem> adopted = state.owned();
  std::erase_if(adopted, [&](const apply::InventoryItem& item) {
    return !item.adopted || known.contains(item.key) || uids.contains(item.uid);
  });
  return adopted;
}

// As the revisions after `number` recorded them: the first that adopted an object knew it as it was.
Result<std::map<apimachinery::ObjectKey, encoding::Value>> as_they_were(
    release::Store& store, const ReleaseState& state, const std::vector<RevisionSummary>& kept, int number,
    const std::vector<apply::InventoryItem>& adopted, const Context& context) {
  std::map<apimachinery::ObjectKey, encoding::Value> before;
  for (const apply::InventoryItem& item : adopted) before.emplace(item.key, encoding::Value());
  std::set<int> since;
  for (const RevisionSummary& each : kept)
    if (each.number > number) since.insert(each.number);
  for (const int each : adopted.empty() ? std::set<int>() : since) {
    MIST_TRY(const std::optional<release::Revision> revision,
             store.read_revision(*state.anchor, each, context));
    if (!revision) continue;
    for (const apply::InventoryItem& item : adopted) {
      const encoding::Value* was = before_adoption(*revision, item.key, item.uid);
      if (was != nullptr && before[item.key].is_null()) before[item.key] = *was;
    }
  }
  return before;
}

// Other releases took over objects that the revision recorded and its inventory doesn't name any more. Those
// that they still have aren't taken back; the rest is wanted again.
Status restore_what_is_gone(const Environment& environment, const release::Revision& revision,
                            const release::ReleaseId& id, RenderedRelease& restored, const Context& context) {
  std::set<apimachinery::ObjectKey> kept;
  for (const release::RenderedObject& each : restored.objects) kept.insert(each.object.key());
  const std::vector<release::RenderedObject> recorded = recorded_release(revision).objects;
  // Hooks and tests come after the objects.
  for (const release::RenderedObject& each : std::span(recorded).first(revision.objects.size())) {
    const apimachinery::Object& object = each.object;
    if (kept.contains(object.key())) continue;
    const auto resource =
        environment.client.resource_for(object.gvk().group_kind(), object.gvk().version, context);
    MIST_TRY_VOID(context.check());
    if (!resource.ok()) continue;
    const std::string ns = !resource->namespaced ? std::string()
                           : object.ns().empty() ? id.ns
                                                 : std::string(object.ns());
    const auto there = environment.client.get({*resource, ns, std::string(object.name())}, context);
    MIST_TRY_VOID(context.check());
    const std::string owner = there.ok() ? apply::live_owner_of(*there).release : std::string();
    const bool unreadable = !there.ok() && !kube::is_absent(there.error());
    if (!unreadable && (owner.empty() || owner == id.display())) {
      restored.objects.insert(restored.objects.begin(), each);
      continue;
    }
    environment.events.warn(fmt::format(
        "{} of v{} stays as it is: {} took it over since", object.key().display(), revision.number,
        owner.empty() ? std::string("somebody else") : fmt::format("release {}", owner)));
  }
  return {};
}

}  // namespace

RenderedRelease restored_release(const release::Revision& revision, const std::string& ns) {
  RenderedRelease restored = kept_release(revision, ns);
  // --force-conflicts was meant for that run: taking fields from other managers now has to be asked for
  // again.
  restored.recorded_options = {
      .allowed = {.prune = {.left_crds = std::move(restored.recorded_options.allowed.prune.left_crds)}}};
  return restored;
}

Intent rollback_intent(const Environment& environment, std::optional<int> to, const Context& context) {
  const auto check = [](const ReleaseState& state) -> Status {
    MIST_TRY_VOID(refuse_missing(state));
    return refuse_uninstalling(state);
  };
  const auto render = [&environment, to, context](const ReleaseState& state) -> Result<RenderedRelease> {
    release::Store store(environment.client);
    MIST_TRY(const std::vector<RevisionSummary> kept, store.list_revisions(state.id, context));
    MIST_TRY(const int number, target(state, kept, to));
    MIST_TRY(const std::optional<release::Revision> revision,
             store.read_revision(*state.anchor, number, context));
    if (!revision)
      return error(ErrorKind::Conflict, "revision v{} of release {} was removed just now", number,
                   state.id.display())
          .with_hint("run the command again");
    RenderedRelease restored = restored_release(*revision, state.id.ns);
    restored.restores = number;
    // Going back grants nothing that was taken back since.
    const release::Revision* const now = state.facts().stored;
    restored.lookups =
        now == nullptr ? render::LookupGrants() : render::RecordedOptions::from_value(now->options).lookups;
    restored.description = fmt::format("back to v{}", number);
    MIST_TRY_VOID(restore_what_is_gone(environment, *revision, state.id, restored, context));
    MIST_TRY(restored.adopted_since,
             as_they_were(store, state, kept, number, adopted_since(*revision, state), context));
    return restored;
  };
  return {.action = "rollback",
          .check = check,
          .render = render,
          .hooks = apply::HookVerb::Rollback,
          .lost = LostRevision::Allowed,
          .leaves_refused = true};
}

Status note_adoptions_gone_back_over(const Environment& environment, const ReleaseState& state,
                                     RenderedRelease& finished, const Context& context) {
  // An earlier run that finished it may have died as well.
  int number = state.unfinished.back().restores;
  for (const release::Revision& each : state.unfinished | std::views::reverse)
    if (each.number == number) number = each.restores;
  if (number < 0) return {};
  release::Store store(environment.client);
  MIST_TRY(const std::vector<RevisionSummary> kept, store.list_revisions(state.id, context));
  MIST_TRY(const std::optional<release::Revision> revision,
           store.read_revision(*state.anchor, number, context));
  if (!revision) return {};
  MIST_TRY(finished.adopted_since,
           as_they_were(store, state, kept, number, adopted_since(*revision, state), context));
  return {};
}

}  // namespace mist::action
