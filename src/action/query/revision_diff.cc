#include "action/query/revision_diff.h"

#include <algorithm>

#include "apply/reserved_metadata.h"
#include "release/command_text.h"

namespace mist::action {
namespace {

// The order in which a package gave its objects says nothing.
std::vector<RecordedDiff> without_moved(std::vector<RecordedDiff> diffs) {
  std::erase_if(diffs, [](const RecordedDiff& each) { return each.only_moved; });
  return diffs;
}

// By a reader that asks for no seal.
Result<std::optional<release::Revision>> unproven_revision(const Environment& environment,
                                                           const release::ReleaseId& id, int number,
                                                           const Context& context) {
  release::Anchor vouched;
  vouched.id = id;
  vouched.seals = release::Seals::none();
  return release::Store(environment.client).read_revision(vouched, number, context);
}

void warn_of_unproven(const Environment& environment, const release::ReleaseId& id, int number,
                      std::string_view why) {
  environment.events.warn(
      fmt::format("nothing proves that revision v{} is of release {}: {}; whoever may write Secrets in the "
                  "namespace {} may have written it",
                  number, id.display(), why, id.ns));
}

}  // namespace

Result<release::Revision> kept_revision(const Environment& environment, const release::Anchor& anchor,
                                        int number, const Context& context) {
  release::Store store(environment.client);
  MIST_TRY(std::optional<release::Revision> revision, store.read_revision(anchor, number, context));
  if (!revision)
    return error(ErrorKind::NotFound, "release {} has no revision v{}, or it is not kept any more",
                 anchor.id.display(), number)
        .with_hint("see " + release::command_text("history", anchor.id));
  return *std::move(revision);
}

Result<InspectedRevision> inspect_revision(const Environment& environment, const release::ReleaseId& id,
                                           int number, const Context& context) {
  release::Store store(environment.client);
  MIST_TRY(std::optional<release::Anchor> anchor, store.read_anchor(id, context));
  if (!anchor) {
    MIST_TRY(std::optional<release::Revision> alone, unproven_revision(environment, id, number, context));
    if (!alone) return missing_release(environment, id, context);
    warn_of_unproven(environment, id, number,
                     fmt::format("the Secret {} with the key of its seals is gone", apply::anchor_name(id)));
    InspectedRevision found{.anchor = {}, .revision = *std::move(alone)};
    found.anchor.id = id;
    return found;
  }
  anchor->id = id;
  auto proven = kept_revision(environment, *anchor, number, context);
  if (proven.ok()) return InspectedRevision{*std::move(anchor), *std::move(proven)};
  if (proven.error().kind != ErrorKind::Internal) return std::move(proven).error();
  auto unproven = unproven_revision(environment, id, number, context);
  if (!unproven.ok() || !*unproven) return std::move(proven).error();
  warn_of_unproven(environment, id, number, proven.error().because);
  return InspectedRevision{*std::move(anchor), **std::move(unproven)};
}

Result<RevisionDiff> diff_revisions(const Environment& environment, const release::ReleaseId& id, int from,
                                    std::optional<int> to, DiffOptions options, const Context& context) {
  const Activity reading(environment.events, fmt::format("reading the history of {}", id.display()));
  release::Store store(environment.client);
  MIST_TRY(std::optional<release::Anchor> anchor, store.read_anchor(id, context));
  if (!anchor) return missing_release(environment, id, context);
  anchor->id = id;
  if (!to) to = anchor->head.deployed >= 0 ? anchor->head.deployed : anchor->head.latest;
  MIST_TRY(const release::Revision before, kept_revision(environment, *anchor, from, context));
  MIST_TRY(const release::Revision after, kept_revision(environment, *anchor, *to, context));
  render::HiddenValues hidden;
  hidden.add(before);
  hidden.add(after);
  options.hidden = &hidden;
  RevisionDiff diff{.id = id, .from = from, .to = *to};
  diff.packages = package_changes(before.package, after.package);
  diff.objects = without_moved(diff_of_recorded(before.objects, after.objects, options));
  diff.hooks = without_moved(diff_of_recorded(before.hooks, after.hooks, options));
  diff.tests = without_moved(diff_of_recorded(before.tests, after.tests, options));
  const auto stay = std::ranges::count_if(
      diff.objects, [](const RecordedDiff& each) { return each.change != LineChange::Removed; });
  diff.unchanged = after.objects.size() - static_cast<std::size_t>(stay);
  return diff;
}

}  // namespace mist::action
