#include "action/query/drift.h"

#include "base/parallel.h"
#include "base/some_of.h"
#include "base/text.h"
#include "cli/command_hint.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/parse/flags.h"
#include "cli/release_flags.h"
#include "view/drift.h"

namespace mist::cli {
namespace {

using action::DriftKind;
using release::ReleaseId;

constexpr Argument kArguments[] = {{.name = "NAME",
                                    .help = "Name of the release; left out with --all and -A",
                                    .arity = Arity::Optional,
                                    .completion = Completion::Release}};
constexpr Flag kFlags[] = {
    {.name = "fix", .help = "Apply what is recorded once more, over what others changed"},
    {.name = "all", .help = "Every release of the namespace"},
    {.name = "all-namespaces", .letter = 'A', .help = "Every release of every namespace"},
    {.name = "exit-code",
     .help = "Exit with 3 when something drifted and was not fixed; --fix does so by itself where the server "
             "refuses to change something back"},
    {.name = "strict", .help = "Fields that only others set, and what can't be read, count as drift too"},
    {.name = "adopt", .help = "With --fix, also over objects of the same name that belong to nobody"},
    kHistoryMaxFlag,
    {.name = "show-secrets", .help = "Print the data of Secrets instead of ***"},
};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kLockFlags, kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl drift web", "Differences from web's deployed revision, and who made them"},
    {"mistctl drift --all -n shop --exit-code -o json", "For a job of CI: exit code 3 when anything drifted"},
    {"mistctl drift -A", "Differences from the records of the whole cluster"},
    {"mistctl drift web --fix", "Put it back"},
};

Result<std::vector<ReleaseId>> chosen(const Invocation& invocation, Machine& machine,
                                      const Cluster& cluster) {
  const bool named = !invocation.argument("NAME").empty();
  const bool everywhere = invocation.enabled("all-namespaces");
  if (named == (invocation.enabled("all") || everywhere))
    return error(ErrorKind::Usage, "{}",
                 named ? fmt::format("NAME and {} exclude one another", everywhere ? "-A" : "--all")
                       : "NAME is missing")
        .with_hint(
            "name a release, or look at every one of the namespace with --all, or of the cluster with "
            "-A");
  if (named) {
    MIST_TRY(ReleaseId id, release_id(invocation, *cluster.client));
    return std::vector{std::move(id)};
  }
  release::Store store(*cluster.client);
  MIST_TRY(
      const std::vector<release::Anchor> anchors,
      store.list_anchors(everywhere ? std::string() : cluster.client->default_namespace(), machine.context));
  std::vector<ReleaseId> ids;
  std::vector<std::string> passed_over;
  for (const release::Anchor& anchor : anchors) {
    ReleaseId id{anchor.id.ns, anchor.id.name, cluster_words(invocation)};
    // A release that never was deployed, or is on its way out, has nothing to drift from.
    if (anchor.head.deployed >= 0 && anchor.head.status != release::RevisionStatus::Uninstalling)
      ids.push_back(std::move(id));
    else
      passed_over.push_back(id.display());
  }
  constexpr std::size_t kShown = 5;
  if (const std::size_t count = passed_over.size(); count > 0)
    machine.events->info(
        fmt::format("nothing to compare with, because never deployed or being uninstalled: {}: {}",
                    plural(count, "release"), some_of(std::move(passed_over), kShown)));
  return ids;
}

void take_fix(view::DriftOutcome& outcome, const action::DeployReport& fixed) {
  if (fixed.changed) outcome.fixed_by = fixed.revision;
  outcome.left = fixed.left();
}

Result<ExitCode> run_drift(const Invocation& invocation, Machine& machine) {
  if (invocation.enabled("adopt") && !invocation.enabled("fix"))
    return error(ErrorKind::Usage, "--adopt goes with --fix only");
  if (invocation.has(kHistoryMaxFlag.name) && !invocation.enabled("fix"))
    return error(ErrorKind::Usage, "--history-max goes with --fix only")
        .with_hint("without --fix nothing is written, so no revision is removed either");
  MIST_TRY(const Cluster cluster, open_cluster(invocation, machine));
  MIST_TRY(const std::vector<ReleaseId> ids, chosen(invocation, machine, cluster));
  std::vector<view::DriftOutcome> outcomes;
  for (const ReleaseId& id : ids) outcomes.push_back({.id = id});
  (void)parallel_for(outcomes.size(), 8, [&](std::size_t i) -> Status {
    auto report = action::drift(cluster.environment, outcomes[i].id, machine.context);
    if (report.ok())
      outcomes[i].report = *std::move(report);
    else
      outcomes[i].failure = std::move(report).error();
    return {};
  });
  const bool strict = invocation.enabled("strict");
  bool drifted = false, kept = false;
  for (view::DriftOutcome& outcome : outcomes) {
    if (!outcome.report || !outcome.report->drifted(strict)) continue;
    if (invocation.enabled("fix") && outcome.report->drifted(false)) {
      auto fixed = action::fix_drift(
          cluster.environment, outcome.id,
          {.adopt = invocation.enabled("adopt"), .history_max = history_max(invocation)}, machine.context);
      outcome.fixing = true;
      if (fixed.ok())
        take_fix(outcome, *fixed);
      else
        outcome.failure = std::move(fixed).error();
    }
    kept = kept || !outcome.left.empty();
    // Others' fields stay where they are: they are not ours to take away.
    const std::size_t stay =
        outcome.report->count(DriftKind::Foreign) + outcome.report->count(DriftKind::Unknown);
    drifted = drifted || !outcome.fixed_by || !outcome.left.empty() || (strict && stay > 0);
  }
  const view::DriftOptions options{.show_secrets = invocation.enabled("show-secrets"),
                                   .strict = strict,
                                   .color = machine.color_out,
                                   .with_namespace = invocation.enabled("all-namespaces")};
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    print_value(machine, format, view::drift_value(outcomes, options));
  } else {
    for (const view::DriftOutcome& outcome : outcomes)
      machine.out.write(view::drift_text(outcome, machine.clock.now(), options));
    if (outcomes.empty())
      machine.events->info(
          invocation.enabled("all-namespaces")
              ? "no deployed releases"
              : fmt::format("no deployed releases in namespace {}; -A looks at every namespace",
                            cluster.client->default_namespace()));
  }
  // Of the one release that the user named, the error stands for itself.
  if (!invocation.argument("NAME").empty() && outcomes.front().failure)
    return *std::move(outcomes.front().failure);
  std::vector<ReleaseFailure> failures;
  for (view::DriftOutcome& outcome : outcomes)
    if (outcome.failure) failures.push_back({outcome.id, *std::move(outcome.failure)});
  if (auto failure = failure_of_several(std::move(failures))) return *std::move(failure);
  return kept || (drifted && invocation.enabled("exit-code")) ? ExitCode::Differences : ExitCode::Ok;
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
