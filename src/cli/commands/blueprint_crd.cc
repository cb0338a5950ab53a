// mistctl blueprint crd.

#include "action/authoring/blueprint_cases.h"
#include "base/text.h"
#include "blueprint/evaluator.h"
#include "cli/blueprint_flags.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/package_flags.h"

namespace mist::cli {
namespace {

constexpr Argument kCrdArguments[] = {kBlueprintSource};
constexpr std::string_view kCrdFormats[] = {"yaml", "json"};
constexpr Flag kCrdFlags[] = {{.name = "output",
                               .letter = 'o',
                               .type = FlagType::Choice,
                               .value = "FORMAT",
                               .help = "How to print the CRD",
                               .fallback = "yaml",
                               .choices = kCrdFormats}};
constexpr FlagGroup kCrdGroups[] = {{"Flags", kCrdFlags}, kSandboxFlags};
constexpr Example kCrdExamples[] = {
    {"mistctl blueprint crd ./app", "The CRD that the operator makes of the blueprint's contracts"},
    {"mistctl blueprint crd ./app | kubectl apply --server-side -f -", "Apply it yourself"},
};

std::string crd_comments(const blueprint::CustomResource& resource) {
  std::string text;
  const auto say = [&](std::string_view words, const std::vector<blueprint::SchemaNote>& notes) {
    if (notes.empty()) return;
    text += fmt::format("# {}\n", words);
    for (const blueprint::SchemaNote& each : notes)
      text += fmt::format("#   {} ({}): {}\n", escape_controls(each.path), escape_controls(each.version),
                          escape_controls(each.what));
  };
  say("the operator checks what no CRD can ask:", resource.unsaid);
  say("the CRD asks what the contract does not:", resource.beyond);
  if (resource.converts())
    text +=
        "# spec.conversion is missing: versions are converted by the operator's webhook. The operator writes "
        "it with\n"
        "# 'manage, has it in the CRD that it publishes with 'publish, and says with 'await what it has to "
        "be.\n";
  return text;
}

Result<ExitCode> run_crd(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const action::BlueprintSource source, blueprint_source(invocation, machine));
  MIST_TRY(const auto renderer, open_renderer(invocation, machine));
  MIST_TRY(blueprint::Evaluator evaluator, blueprint::Evaluator::of(source.name, source.files, *renderer));
  auto described = evaluator.describe(machine.context);
  if (!described.ok()) return action::shown_error(source, std::move(described).error());
  if (!described->resource())
    return error(ErrorKind::Invalid, "the blueprint {} leaves its CRD to others: its kind has no crd",
                 source.name)
        .with_hint("set kind.crd = 'manage, 'await or 'publish, and kind.spec to a contract");
  const encoding::Value crd = blueprint::crd_of(described->instances(), *described->resource());
  const bool json = invocation.text("output") == "json";
  if (!json) machine.out.write(crd_comments(*described->resource()));
  print_value(machine, json ? OutputFormat::Json : OutputFormat::Yaml, crd);
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kBlueprintCrdCommand{.path = "blueprint crd",
                                             .summary = "Print the CRD that a blueprint's contracts make",
                                             .run = run_crd,
                                             .arguments = kCrdArguments,
                                             .flags = kCrdGroups,
                                             .examples = kCrdExamples,
                                             .cluster = ClusterUse::None};

}  // namespace mist::cli
