#include "action/rollback.h"

#include <charconv>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/release_flags.h"

namespace mist::cli {
namespace {

constexpr Argument kArguments[] = {
    {.name = "NAME", .help = "Name of the release", .completion = Completion::Release},
    {.name = "REVISION",
     .help = "Which revision to go back to, as mistctl history shows it; without it the last good one before",
     .arity = Arity::Optional},
};
constexpr FlagGroup kGroups[] = {kRecordedFlags, kPruneFlags, kLockFlags, kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl rollback web", "Back to how it was before the last change"},
    {"mistctl rollback web 3 --wait", "Back to revision v3, and wait until it runs"},
    {"mistctl rollback web --dry-run", "Only show what would happen"},
};

// "3" and "v3" are the same revision.
Result<std::optional<int>> revision_number(const std::string& text) {
  if (text.empty()) return std::optional<int>();
  const std::string_view digits = std::string_view(text).substr(text.front() == 'v' ? 1 : 0);
  int number = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failure != std::errc() || end != digits.data() + digits.size() || number < 0 || digits.empty())
    return error(ErrorKind::Usage, "\"{}\" is no revision", escape_controls(text))
        .with_hint("give its number, as mistctl history shows it: v3 or 3");
  return std::optional<int>(number);
}

Result<ExitCode> run_rollback(const Invocation& invocation, World& world) {
  MIST_TRY(const std::optional<int> to, revision_number(invocation.argument("REVISION")));
  MIST_TRY(const Cluster cluster, open_cluster(invocation, world));
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  MIST_TRY(
      const action::DeployReport report,
      action::deploy(cluster.environment, id, action::rollback_intent(cluster.environment, to, world.context),
                     deploy_options(invocation), world.context));
  print_deploy_report(invocation, world, report, fmt::format("is rolled back to v{},", report.restores));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kRollbackCommand{.path = "rollback",
                                         .summary = "Return a release to an earlier revision",
                                         .run = run_rollback,
                                         .arguments = kArguments,
                                         .flags = kGroups,
                                         .examples = kExamples};

}  // namespace mist::cli
