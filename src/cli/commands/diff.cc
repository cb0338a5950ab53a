#include <algorithm>
#include <array>

#include "cli/commands.h"
#include "cli/offline.h"
#include "cli/output/output.h"
#include "cli/parse/flags.h"
#include "cli/registry_access.h"
#include "cli/wanted_release.h"
#include "view/differences.h"

namespace mist::cli {
namespace {

constexpr Flag kFlags[] = {
    {.name = "show-secrets", .help = "Show what Secrets hold instead of ***"},
    kLinesFlag,
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
    {.name = "against",
     .type = FlagType::Text,
     .value = "REFERENCE",
     .help =
         "Compare the package of -p, rendered without a cluster, with the objects that mistctl publish or "
         "flux push artifact put there: oci://HOST/PATH:TAG",
     .completion = Completion::Package},
};
// With --against only.
constexpr auto kAgainstFlags = [] {
  std::array<Flag, std::size(kOfflineFlagList)> flags{};
  std::ranges::copy(kOfflineFlagList, flags.begin());
  for (Flag& flag : flags) flag.rare = true;
  return flags;
}();
constexpr FlagGroup kGroups[] = {
    kWantedFlags,  kValuesFlags, {"Diff flags", kFlags}, kPlanFlags,
    kPruneFlags,   kClockFlags,  kRotateFlags,           {"Flags in place of a cluster", kAgainstFlags},
    kSandboxFlags, kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl diff web -s replicas=5 --reuse-values", "The changes that this upgrade would make"},
    {"mistctl diff web -p team/hello-web:0.2.0 --exit-code", "For scripts: 0 is nothing, 3 is something"},
    {"mistctl diff web", "Changes in the cluster since the last revision, which would be changed back"},
    {"mistctl diff web --from v2 --to v4", "How two revisions differ"},
    {"mistctl diff shop -p ./shop -f prod.yaml --against oci://registry.example/deploy/shop:prod",
     "The changes that mistctl publish would make there"},
};

action::DiffOptions options_of(const Invocation& invocation) {
  return {.show_secrets = invocation.enabled("show-secrets"), .context = context_lines(invocation)};
}

Result<ExitCode> compare_revisions(const Invocation& invocation, Machine& machine, const Cluster& cluster) {
  if (!invocation.has("from"))
    return error(ErrorKind::Usage, "--to goes with --from only").with_hint("--from v1 --to v3");
  if (invocation.has("package") || has_values(invocation))
    return error(ErrorKind::Usage,
                 "--from compares recorded revisions: it takes neither a package nor values")
        .with_hint("leave --from out to see what an upgrade would change");
  MIST_TRY(const std::optional<int> from, revision_of(invocation, "from"));
  MIST_TRY(const std::optional<int> to, revision_of(invocation, "to"));
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  MIST_TRY(const action::RevisionDiff diff, action::diff_revisions(cluster.environment, id, *from, to,
                                                                   options_of(invocation), machine.context));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table)
    print_value(machine, format, view::diff_value(diff));
  else
    machine.out.write(view::diff_text(diff, machine.color_out));
  return invocation.enabled("exit-code") && diff.changes() ? ExitCode::Differences : ExitCode::Ok;
}

// Without a cluster.
Result<ExitCode> compare_published(const Invocation& invocation, Machine& machine) {
  for (const std::string_view other : {"from", "to", "reuse-values"})
    if (invocation.has(other))
      return error(ErrorKind::Usage, "--{} asks the cluster, and --against doesn't", other)
          .with_hint("leave one of them out");
  if (!invocation.has("package"))
    return error(ErrorKind::Usage, "--against compares a package: it needs -p")
        .with_hint("-p PACKAGE, as it is given to mistctl publish");
  MIST_TRY(const oci::Reference published, oci::Reference::parse(invocation.text("against")));
  const std::string name = invocation.argument("NAME");
  MIST_TRY(render::RenderedRelease rendered,
           render_offline(invocation, machine, invocation.text("package"), name));
  const release::ReleaseId id{offline_namespace(invocation), name};
  MIST_TRY(registry::Registries::Dependencies access, registry_dependencies(invocation, machine));
  registry::Registries registries(std::move(access));
  MIST_TRY(registry::OciClient* const client, registries.oci_client());
  const action::PublishOptions publishing{.skip_crds = invocation.enabled(kSkipCrdsFlag.name)};
  MIST_TRY(const action::PublishedDiff diff,
           action::diff_published(*client, id, published, std::move(rendered), publishing,
                                  options_of(invocation), *machine.events, machine.context));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table)
    print_value(machine, format, view::diff_value(diff));
  else
    machine.out.write(view::diff_text(diff, machine.color_out));
  return invocation.enabled("exit-code") && diff.changes() ? ExitCode::Differences : ExitCode::Ok;
}

Result<ExitCode> run_diff(const Invocation& invocation, Machine& machine) {
  if (invocation.has("against")) return compare_published(invocation, machine);
  for (const Flag& flag : kOfflineFlagList)
    if (invocation.has(flag.name))
      return error(ErrorKind::Usage, "--{} goes with --against; without that the cluster decides", flag.name)
          .with_hint(fmt::format("leave --{} out, or add --against oci://HOST/PATH:TAG", flag.name));
  MIST_TRY(const Cluster cluster, open_cluster(invocation, machine));
  if (invocation.has("from") || invocation.has("to")) return compare_revisions(invocation, machine, cluster);
  MIST_TRY(action::PreparedDeploy prepared, preview(invocation, machine, cluster));
  MIST_TRY_VOID(action::explain_refusals(cluster.environment, prepared, machine.context));
  const action::DiffOptions options = options_of(invocation);
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table)
    print_value(machine, format, view::diff_value(prepared, options));
  else
    machine.out.write(view::diff_text(prepared, options, machine.color_out));
  return invocation.enabled("exit-code") && view::changes_something(prepared) ? ExitCode::Differences
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
