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
};
constexpr FlagGroup kGroups[] = {kWantedFlags, kValuesFlags, {"Diff flags", kFlags}, kPlanFlags,  kPruneFlags,
                                 kClockFlags,  kRotateFlags, kSandboxFlags,          kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl diff web -s replicas=5 --reuse-values", "What this upgrade would change"},
    {"mistctl diff web -p team/hello-web:0.2.0 --exit-code", "For scripts: 0 is nothing, 3 is something"},
    {"mistctl diff web",
     "What was changed in the cluster since the last revision, and would be changed back"},
};

Result<ExitCode> run_diff(const Invocation& invocation, World& world) {
  MIST_TRY(const Cluster cluster, open_cluster(invocation, world));
  MIST_TRY(const action::Look look, preview(invocation, world, cluster));
  const action::DiffOptions options{
      .show_secrets = invocation.enabled("show-secrets"),
      .context = static_cast<std::size_t>(std::clamp<std::int64_t>(invocation.number("lines"), 0, 100000))};
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
