#include <algorithm>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/wanted_release.h"
#include "view/differences.h"

namespace mist::cli {
namespace {

constexpr Flag kFlags[] = {
    {.name = "show-secrets", .help = "Show what Secrets hold instead of ***"},
    {.name = "lines",
     .letter = 'U',
     .type = FlagType::Number,
     .value = "COUNT",
     .help = "Unchanged lines around each change",
     .fallback = "3"},
    {.name = "exit-code", .help = "End with exit code 3 if anything would change"},
    {.name = "from",
     .type = FlagType::Text,
     .value = "REVISION",
     .help = "Compare this recorded revision with --to instead, without the cluster's objects",
     .completion = Completion::Revision},
    {.name = "to",
     .type = FlagType::Text,
     .value = "REVISION",
     .help = "With --from: the later revision; without it the deployed one",
     .completion = Completion::Revision},
};
constexpr FlagGroup kGroups[] = {kWantedFlags, kValuesFlags, {"Diff flags", kFlags}, kPlanFlags,  kPruneFlags,
                                 kClockFlags,  kRotateFlags, kSandboxFlags,          kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl diff web -s replicas=5 --reuse-values", "What this upgrade would change"},
    {"mistctl diff web -p team/hello-web:0.2.0 --exit-code", "For scripts: 0 is nothing, 3 is something"},
    {"mistctl diff web",
     "What was changed in the cluster since the last revision, and would be changed back"},
    {"mistctl diff web --from v2 --to v4", "How two revisions differ"},
};

action::DiffOptions options_of(const Invocation& invocation) {
  return {
      .show_secrets = invocation.enabled("show-secrets"),
      .context = static_cast<std::size_t>(std::clamp<std::int64_t>(invocation.number("lines"), 0, 100000))};
}

Result<ExitCode> compare_revisions(const Invocation& invocation, World& world, const Cluster& cluster) {
  if (!invocation.has("from"))
    return error(ErrorKind::Usage, "--to goes with --from only").with_hint("--from v1 --to v3");
  if (invocation.has("package") || has_values(invocation))
    return error(ErrorKind::Usage,
                 "--from compares recorded revisions: it takes neither a package nor values")
        .with_hint("leave --from out to see what an upgrade would change");
  MIST_TRY(const std::optional<int> from, revision_number(invocation.text("from")));
  MIST_TRY(const std::optional<int> to, revision_number(invocation.text("to")));
  if (!from) return error(ErrorKind::Usage, "--from names no revision");
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  MIST_TRY(const action::RevisionDiff diff,
           action::diff_revisions(cluster.environment, id, *from, to, options_of(invocation), world.context));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table)
    print_value(world, format, view::diff_value(diff));
  else
    world.out.write(view::diff_text(diff, world.color_out));
  return invocation.enabled("exit-code") && diff.changes() ? ExitCode::Differences : ExitCode::Ok;
}

Result<ExitCode> run_diff(const Invocation& invocation, World& world) {
  MIST_TRY(const Cluster cluster, open_cluster(invocation, world));
  if (invocation.has("from") || invocation.has("to")) return compare_revisions(invocation, world, cluster);
  MIST_TRY(const action::Look look, preview(invocation, world, cluster));
  const action::DiffOptions options = options_of(invocation);
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table)
    print_value(world, format, view::diff_value(look, options));
  else
    world.out.write(view::diff_text(look, options, world.color_out));
  return invocation.enabled("exit-code") && view::changes_something(look) ? ExitCode::Differences
                                                                          : ExitCode::Ok;
}

}  // namespace

constinit const Command kDiffCommand{
    .path = "diff",
    .summary = "Show what an upgrade or install would change, field by field",
    .run = run_diff,
    .arguments = kReleaseArgument,
    .flags = kGroups,
    .examples = kExamples};

}  // namespace mist::cli
