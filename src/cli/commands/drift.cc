#include "action/drift.h"

#include "base/parallel.h"
#include "base/text.h"
#include "cli/command_hint.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/release_flags.h"
#include "view/drift.h"

namespace mist::cli {
namespace {

using action::DriftKind;
using release::ReleaseId;

constexpr Argument kArguments[] = {{.name = "NAME",
                                    .help = "Name of the release; left out with --all",
                                    .arity = Arity::Optional,
                                    .completion = Completion::Release}};
constexpr Flag kFlags[] = {
    {.name = "fix", .help = "Apply what is recorded once more, over what others changed"},
    {.name = "all", .help = "Every release of the namespace"},
    {.name = "exit-code", .help = "Exit with 3 when something drifted and was not fixed"},
    {.name = "strict", .help = "Fields that only others set, and what you may not read, count as drift too"},
    {.name = "adopt", .help = "With --fix, also over objects of the same name that belong to nobody"},
    {.name = "show-secrets", .help = "Print the data of Secrets instead of ***"},
};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kLockFlags, kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl drift web", "What is not as web's deployed revision recorded it, and who changed it"},
    {"mistctl drift --all -n shop --exit-code -o json", "For a job of CI: exit code 3 when anything drifted"},
    {"mistctl drift web --fix", "Put it back"},
};

Result<std::vector<ReleaseId>> chosen(const Invocation& invocation, World& world, const Cluster& cluster) {
  const bool named = !invocation.argument("NAME").empty();
  if (named == invocation.enabled("all"))
    return error(ErrorKind::Usage, "{}", named ? "NAME and --all exclude one another" : "NAME is missing")
        .with_hint("name a release, or look at every one of the namespace with --all");
  if (named) {
    MIST_TRY(ReleaseId id, release_id(invocation, *cluster.client));
    return std::vector{std::move(id)};
  }
  release::Store store(*cluster.client);
  MIST_TRY(const std::vector<release::Anchor> anchors,
           store.list_anchors(cluster.client->default_namespace(), world.context));
  std::vector<ReleaseId> ids;
  for (const release::Anchor& anchor : anchors) {
    // What never was deployed, or is on its way out, has nothing to drift from.
    if (anchor.head.deployed >= 0 && anchor.head.status != release::RevisionStatus::Uninstalling)
      ids.push_back({anchor.id.ns, anchor.id.name, cluster_words(invocation)});
  }
  return ids;
}

// The first failure, with how many others there are.
std::optional<Error> failure_of(std::vector<view::DriftOutcome>& outcomes) {
  std::optional<Error> first;
  std::size_t more = 0;
  for (view::DriftOutcome& outcome : outcomes) {
    if (!outcome.failure) continue;
    if (first)
      ++more;
    else
      first = std::move(*outcome.failure).with_frame(fmt::format("in release {}", outcome.id.display()));
  }
  if (first && more > 0) first->frames.push_back(fmt::format("{} failed too", plural(more, "more release")));
  return first;
}

Result<ExitCode> run_drift(const Invocation& invocation, World& world) {
  if (invocation.enabled("adopt") && !invocation.enabled("fix"))
    return error(ErrorKind::Usage, "--adopt goes with --fix only");
  MIST_TRY(const Cluster cluster, open_cluster(invocation, world));
  MIST_TRY(const std::vector<ReleaseId> ids, chosen(invocation, world, cluster));
  std::vector<view::DriftOutcome> outcomes;
  for (const ReleaseId& id : ids) outcomes.push_back({.id = id});
  (void)parallel_for(outcomes.size(), 8, [&](std::size_t i) -> Status {
    auto report = action::drift(cluster.environment, outcomes[i].id, world.context);
    if (report.ok())
      outcomes[i].report = *std::move(report);
    else
      outcomes[i].failure = std::move(report).error();
    return {};
  });
  const bool strict = invocation.enabled("strict");
  bool drifted = false;
  for (view::DriftOutcome& outcome : outcomes) {
    if (!outcome.report || !outcome.report->drifted(strict)) continue;
    if (invocation.enabled("fix") && outcome.report->drifted(false)) {
      auto fixed =
          action::fix_drift(cluster.environment, outcome.id, invocation.enabled("adopt"), world.context);
      if (fixed.ok())
        outcome.fixed_by = fixed->revision;
      else
        outcome.failure = std::move(fixed).error();
    }
    // Others' fields stay where they are: they are not ours to take away.
    const std::size_t stay =
        outcome.report->count(DriftKind::Foreign) + outcome.report->count(DriftKind::Unknown);
    drifted = drifted || !outcome.fixed_by || (strict && stay > 0);
  }
  const view::DriftOptions options{
      .show_secrets = invocation.enabled("show-secrets"), .strict = strict, .color = world.color_out};
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    print_value(world, format, view::drift_value(outcomes, options));
  } else {
    for (const view::DriftOutcome& outcome : outcomes)
      world.out.write(view::drift_text(outcome, world.clock.now(), options));
    if (outcomes.empty())
      world.events->info(
          fmt::format("no deployed releases in namespace {}", cluster.client->default_namespace()));
  }
  if (auto failure = failure_of(outcomes)) return *std::move(failure);
  return drifted && invocation.enabled("exit-code") ? ExitCode::Differences : ExitCode::Ok;
}

}  // namespace

constinit const Command kDriftCommand{
    .path = "drift",
    .summary = "Show what others changed on a release's objects, or put it back",
    .run = run_drift,
    .arguments = kArguments,
    .flags = kGroups,
    .examples = kExamples};

}  // namespace mist::cli
