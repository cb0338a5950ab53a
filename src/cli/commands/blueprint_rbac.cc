// mistctl blueprint rbac.

#include <algorithm>
#include <array>
#include <iterator>

#include "action/authoring/blueprint_rights.h"
#include "base/text.h"
#include "cli/blueprint_flags.h"
#include "cli/commands.h"
#include "cli/offline.h"
#include "cli/output/output.h"
#include "cli/package_flags.h"
#include "encoding/json.h"
#include "encoding/yaml.h"
#include "reconcile/release_node.h"

namespace mist::cli {
namespace {

constexpr Argument kArguments[] = {kBlueprintSource};
constexpr std::string_view kFormats[] = {"yaml", "json"};
constexpr Flag kFlags[] = {
    kInstanceFileFlag,
    kScenarioFlag,
    {.name = "service-account",
     .type = FlagType::Text,
     .value = "NAME",
     .help = "The operator's account, in the namespace of the blueprint (-n)",
     .fallback = "mistletoe-operator"},
    {.name = "run-as",
     .type = FlagType::Text,
     .value = "NAME",
     .help =
         "The ServiceAccount that does the blueprint's work, where its ConfigMap's annotation names none"},
    {.name = "packages",
     .help =
         "Fetch and render the packages of package nodes, as the example has them, and print the roles of "
         "their Releases' accounts too"},
    {.name = "watch-namespace",
     .type = FlagType::Texts,
     .value = "NS",
     .help =
         "A namespace that the operator's --watch-namespace names: print Roles there, and no ClusterRole"},
    {.name = "output",
     .letter = 'o',
     .type = FlagType::Choice,
     .value = "FORMAT",
     .help = "How to print the roles and what isn't known",
     .fallback = "yaml",
     .choices = kFormats},
};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kSandboxFlags};
constexpr Example kExamples[] = {
    {"mistctl blueprint rbac ./app -n mistletoe", "The permissions that the operator needs for it"},
    {"mistctl blueprint rbac ./app --instance ./app/instance.yaml",
     "Kinds that depend on values as this instance has them"},
    {"mistctl blueprint rbac ./app -n mistletoe --packages --instance ./app/instance.yaml",
     "With what its packages make for this instance"},
    {"mistctl blueprint rbac ./app -n mistletoe --watch-namespace shop",
     "Roles for an operator that works in one namespace only"},
    {"mistctl blueprint rbac ./app -n mistletoe --run-as app", "The work is done by an account of its own"},
};

// "base: Secret db-values, key values.yaml".
std::vector<std::string> missing_values(const action::BlueprintRights& rights) {
  std::vector<std::string> all;
  for (const action::PackageRelease& each : rights.releases) {
    // Nothing is printed for its package anyway.
    if (std::ranges::find(rights.packages, each.node) != rights.packages.end()) continue;
    for (const std::string& missing : each.missing_values())
      all.push_back(fmt::format("{}: {}", each.node, missing));
  }
  return all;
}

std::string comments(const action::BlueprintRights& rights) {
  std::string text;
  const auto say = [&](std::string_view words, const std::vector<std::string>& names) {
    if (!names.empty()) text += fmt::format("# {}: {}\n", words, escape_controls(join(names, ", ")));
  };
  say("not complete: the kinds of these nodes depend on values; give an example with --instance",
      rights.unknown);
  say("the kinds of these nodes are those of the example, and other instances may need others",
      rights.by_example);
  say("not complete: these nodes make roles, or bind some that depend on values, and an account may give no "
      "rights that it doesn't have: allow it those, or the verbs escalate and bind on these roles",
      rights.giving);
  say("objects that the packages of these nodes make need rights of their own: the ServiceAccount of their "
      "Releases needs what mistctl needs for the same package (docs/rbac.md); --packages with an example "
      "prints "
      "these where that account is known",
      rights.packages);
  say("not complete: the example doesn't have these values, with which the packages of these nodes may make "
      "other kinds: write the objects in the events of --scenario",
      missing_values(rights));
  say("not complete: objects of these nodes are in no namespace, and an operator with --watch-namespace "
      "refuses them",
      rights.outside);
  if (!rights.unmanaged_crd.empty())
    say("an operator with --watch-namespace applies no CRD: apply what mistctl blueprint crd prints, and set "
        "kind.crd = 'await",
        {rights.unmanaged_crd});
  say("no CRD beside the blueprint says that these are the plurals of their kinds", rights.guessed);
  return text;
}

// The objects of the package that a Release asks for, with the values that it has itself.
Result<std::vector<encoding::Value>> objects_of(const action::PackageRelease& made,
                                                const Invocation& invocation, Machine& machine) {
  const auto spec = [&](std::string_view field) { return made.release.string_at({"spec", field}); };
  OfflineRender render;
  // In the order in which the operator lays them over each other.
  for (const action::ReleaseValues& each : made.values_from)
    if (each.text && each.target_path.empty())
      render.inputs.push_back(
          {.flag = package::ValuesFlag::File, .text = each.display(), .content = *each.text});
  const auto [ns, name] = reconcile::release_named_by(made.release);
  render.release.id = {ns, name};
  // Kinds don't depend on what a package draws.
  std::array<std::byte, 32> seed{};
  machine.random.fill(seed);
  render.release.fixed = {
      .seed = SecretString(std::string(reinterpret_cast<const char*>(seed.data()), seed.size())),
      .frozen_clock = format_time(machine.clock.now())};
  if (const encoding::Value* const values = made.release.at_path({"spec", "values"}))
    render.inputs.push_back({.flag = package::ValuesFlag::File,
                             .text = fmt::format("the values of node {}", made.node),
                             .content = encoding::to_json(*values)});
  for (const action::ReleaseValues& each : made.values_from)
    if (each.text && !each.target_path.empty())
      render.inputs.push_back({.flag = package::ValuesFlag::SetLiteral,
                               .text = fmt::format("{}={}", each.target_path, *each.text),
                               .content = {}});
  MIST_TRY(package::Source source,
           fetch_package(invocation, machine, spec("package"), std::string(spec("engine"))));
  render.source = std::make_shared<const package::Source>(std::move(source));
  MIST_TRY(render.renderer, open_renderer(invocation, machine));
  MIST_TRY(const render::RenderedRelease rendered, render_offline(machine, std::move(render)));
  std::vector<encoding::Value> objects;
  objects.reserve(rendered.objects.size());
  for (const apimachinery::RenderedObject& each : rendered.objects) objects.push_back(each.object.value());
  return objects;
}

// Adds the roles of the accounts of package nodes' Releases; those nodes are no longer left out.
Status add_packages(action::BlueprintRights& rights, const action::OperatorAccount& account,
                    const Invocation& invocation, Machine& machine) {
  for (const action::PackageRelease& each : rights.releases) {
    auto rendered = objects_of(each, invocation, machine)
                        .in(fmt::format("while the package of node {} was rendered", each.node));
    if (const auto missing = each.missing_values(); !rendered.ok() && !missing.empty()) {
      const std::string& known = rendered.error().hint;
      return Error(rendered.error())
          .with_hint(
              fmt::format("{}{}the example has no {}: write such an object in the events of --scenario",
                          known, known.empty() ? "" : "; ", join(missing, ", no ")));
    }
    MIST_TRY(const std::vector<encoding::Value> objects, std::move(rendered));
    std::vector<encoding::Value> manifests = action::release_rights(each, objects, account);
    if (manifests.empty()) continue;
    std::ranges::move(manifests, std::back_inserter(rights.manifests));
    std::erase(rights.packages, each.node);
  }
  return {};
}

Result<ExitCode> run_rbac(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const action::BlueprintSource source, blueprint_source(invocation, machine));
  MIST_TRY(const std::optional<reconcile::Scenario> scenario, scenario_of(invocation, machine));
  MIST_TRY(const auto renderer, open_renderer(invocation, machine));
  std::string ns = invocation.text("namespace");
  if (ns.empty()) ns = "default";
  std::string run_as = invocation.text("run-as");
  if (run_as.empty()) run_as = source.service_account;
  const action::OperatorAccount account{.name = invocation.text("service-account"),
                                        .ns = ns,
                                        .run_as = run_as,
                                        .watched = invocation.texts("watch-namespace")};
  MIST_TRY(action::BlueprintRights rights,
           action::blueprint_rights(*renderer, source, scenario, account, machine.context));
  if (invocation.enabled("packages")) MIST_TRY_VOID(add_packages(rights, account, invocation, machine));
  if (invocation.text("output") == "json")
    print_value(
        machine, OutputFormat::Json,
        encoding::Value::object(
            {{"blueprint", source.name},
             {"manifests", encoding::Value(encoding::Value::Array(rights.manifests))},
             {"unknown", view::texts_value(rights.unknown)},
             {"byExample", view::texts_value(rights.by_example)},
             {"guessed", view::texts_value(rights.guessed)},
             {"giving", view::texts_value(rights.giving)},
             {"packages", view::texts_value(rights.packages)},
             {"missingValues", view::texts_value(missing_values(rights))},
             {"outside", view::texts_value(rights.outside)},
             {"unmanagedCrd",
              rights.unmanaged_crd.empty() ? encoding::Value() : encoding::Value(rights.unmanaged_crd)}}));
  else
    machine.out.write(
        comments(rights) +
        encoding::to_yaml_documents(rights.manifests, {.escape_directions = machine.out.is_terminal()}));
  if (!rights.giving.empty())
    machine.events->warn(
        fmt::format("these roles are not complete: {} give rights, which the account must have itself",
                    join(rights.giving, ", ")));
  if (!rights.outside.empty())
    machine.events->warn(
        fmt::format("objects of {} are in no namespace, and an operator with --watch-namespace refuses them",
                    join(rights.outside, ", ")));
  if (!rights.unmanaged_crd.empty())
    machine.events->warn(
        fmt::format("an operator with --watch-namespace doesn't apply CustomResourceDefinition {}: do that "
                    "yourself, and set kind.crd = 'await",
                    rights.unmanaged_crd));
  const std::vector<std::string> missing = missing_values(rights);
  if (!missing.empty())
    machine.events->warn(
        fmt::format("these roles are not complete: the example doesn't have the values {}; write the objects "
                    "in the events of --scenario",
                    join(missing, ", ")));
  const bool is_whole =
      rights.giving.empty() && rights.outside.empty() && rights.unmanaged_crd.empty() && missing.empty();
  if (rights.unknown.empty()) return is_whole ? ExitCode::Ok : ExitCode::Failed;
  machine.events->warn(
      fmt::format("these roles are not complete: the kinds of {} depend on values; give an example "
                  "with --instance",
                  join(rights.unknown, ", ")));
  return ExitCode::Failed;
}

}  // namespace

constinit const Command kBlueprintRbacCommand{
    .path = "blueprint rbac",
    .summary = "Print the roles that the operator needs for a blueprint",
    .run = run_rbac,
    .arguments = kArguments,
    .flags = kGroups,
    .examples = kExamples,
    .cluster = ClusterUse::Namespace};

}  // namespace mist::cli
