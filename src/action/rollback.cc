#include "action/rollback.h"

#include <algorithm>
#include <ranges>

#include "action/recorded_options.h"
#include "base/text.h"
#include "release/command_text.h"
#include "release/history.h"

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
    names.push_back(fmt::format("v{} ({})", revision.number, revision.package));
  }
  return fmt::format("choose among {}; {} tells more", join(names, ", "),
                     release::command_text("history", id));
}

// The revision to go back to, or why there is none.
Result<int> target(const ReleaseState& state, const std::vector<RevisionSummary>& kept,
                   std::optional<int> to) {
  const release::Head& head = state.anchor->head;
  std::vector<RevisionSummary> good;
  std::ranges::copy_if(kept, std::back_inserter(good), [](const RevisionSummary& revision) {
    return revision.status == RevisionStatus::Deployed;
  });
  std::ranges::sort(good, {}, &RevisionSummary::number);
  if (!to) {
    const auto before =
        std::ranges::find_if(good | std::views::reverse,
                             [&](const RevisionSummary& revision) { return revision.number < head.latest; });
    if (before != std::ranges::rend(good)) return before->number;
    return error(ErrorKind::Conflict, "release {} has no earlier good revision to go back to",
                 state.id.display())
        .with_hint(choices(good, state.id));
  }
  const auto known = std::ranges::find(kept, *to, &RevisionSummary::number);
  if (known == kept.end()) {
    const bool was = *to <= head.latest;
    Error failure =
        was ? error(ErrorKind::NotFound, "revision v{} of release {} is not kept any more", *to,
                    state.id.display())
            : error(ErrorKind::NotFound, "release {} has no revision v{}", state.id.display(), *to);
    failure.hint = choices(good, state.id);
    return failure;
  }
  if (known->status != RevisionStatus::Deployed)
    return error(ErrorKind::Conflict, "revision v{} of release {} {}, so it is nothing to go back to", *to,
                 state.id.display(), known->status == RevisionStatus::Failed ? "failed" : "did not end")
        .with_because(known->message)
        .with_hint(choices(good, state.id));
  return *to;
}

}  // namespace

RenderedRelease restored_release(const release::Revision& revision, const std::string& ns) {
  RenderedRelease restored = kept_release(revision, ns);
  // --force-conflicts was meant for that run: taking fields from other managers now has to be asked for
  // again.
  restored.recorded_options =
      recorded_options({.prune = {.left_crds = recorded_left_crds(revision.options)}});
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
    restored.lookups = now == nullptr ? render::LookupGrants() : render::LookupGrants::recorded(now->options);
    restored.description = fmt::format("back to v{}", number);
    return restored;
  };
  return {.action = "rollback",
          .check = check,
          .render = render,
          .hooks = apply::HookVerb::Rollback,
          .lost = LostRevision::Allowed,
          .leaves_refused = true};
}

}  // namespace mist::action
