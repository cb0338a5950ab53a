// mistctl blueprint status, why.

#include "action/authoring/blueprint_live.h"
#include "action/authoring/release_objects.h"
#include "cli/cluster.h"
#include "cli/command_hint.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/package_flags.h"
#include "cli/parse/flags.h"
#include "view/blueprint_status.h"

namespace mist::cli {
namespace {

constexpr Argument kStatusArguments[] = {
    {.name = "INSTANCE", .help = "KIND/NAME of a custom resource: app/web"}};
constexpr Argument kWhyArguments[] = {{.name = "OBJECT", .help = "KIND/NAME: deployment/web"}};
constexpr Flag kBlueprintsFlag{.name = "blueprints",
                               .type = FlagType::Text,
                               .value = "NAMESPACE",
                               .help = "Where the blueprints' ConfigMaps are; without it everywhere",
                               .completion = Completion::Namespace};
constexpr Flag kStatusFlags[] = {kBlueprintsFlag};
constexpr Flag kWhyFlags[] = {
    kBlueprintsFlag,
    {.name = "instance", .type = FlagType::Text, .value = "KIND/NAME", .help = "Look at this instance only"}};
constexpr FlagGroup kStatusGroups[] = {{"Flags", kStatusFlags}, kOutputFlags, kSandboxFlags};
constexpr FlagGroup kWhyGroups[] = {{"Flags", kWhyFlags}, kOutputFlags, kSandboxFlags};
constexpr Example kStatusExamples[] = {
    {"mistctl blueprint status app/web -n shop",
     "Each node of an instance, and why blocked ones are blocked"},
};
constexpr Example kWhyExamples[] = {
    {"mistctl blueprint why configmap/web-address -n shop", "Why is this object there, or not there?"},
    {"mistctl blueprint why service/web --instance app/web", "The same for one of many instances"},
};

struct Opened {
  std::unique_ptr<kube::Client> client;
  std::unique_ptr<package::Renderer> renderer;
  action::LiveBlueprints blueprints;
};

Result<Opened> open(const Invocation& invocation, Machine& machine) {
  Opened opened;
  MIST_TRY(opened.client, connect(invocation, machine));
  MIST_TRY(opened.renderer, open_renderer(invocation, machine));
  MIST_TRY(opened.blueprints,
           action::live_blueprints(*opened.client, *opened.renderer, invocation.text("blueprints"),
                                   opened.client->default_namespace(), machine.context));
  return opened;
}

Result<ExitCode> run_status(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const action::NamedObject named, action::NamedObject::parse(invocation.argument("INSTANCE")));
  MIST_TRY(Opened opened, open(invocation, machine));
  MIST_TRY(action::InstanceGraph graph,
           action::instance_graph(*opened.client, opened.blueprints, named,
                                  opened.client->default_namespace(), machine.context));
  graph.cluster_words = cluster_words(invocation);
  const action::Environment environment{*opened.client, machine.clock, machine.random, *machine.events, {}};
  MIST_TRY_VOID(action::add_release_objects(environment, graph, machine.context));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table)
    print_value(machine, format, view::instance_graph_value(graph));
  else
    machine.out.write(view::instance_graph_text(graph, machine.color_out));
  return ExitCode::Ok;
}

Result<ExitCode> run_why(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const action::NamedObject named, action::NamedObject::parse(invocation.argument("OBJECT")));
  std::optional<action::NamedObject> instance;
  if (invocation.has("instance")) {
    MIST_TRY(instance, action::NamedObject::parse(invocation.text("instance")));
  }
  MIST_TRY(Opened opened, open(invocation, machine));
  MIST_TRY(action::Why why,
           action::why_object(*opened.client, opened.blueprints, named, opened.client->default_namespace(),
                              instance, machine.context));
  for (action::WhyNode& each : why.nodes) each.graph.cluster_words = cluster_words(invocation);
  for (const std::string& each : opened.blueprints.troubles) machine.events->warn(each);
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table)
    print_value(machine, format, view::why_value(why));
  else
    machine.out.write(view::why_text(why, machine.color_out));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kBlueprintStatusCommand{
    .path = "blueprint status",
    .summary = "Draw an instance's graph with the state of each node",
    .run = run_status,
    .arguments = kStatusArguments,
    .flags = kStatusGroups,
    .examples = kStatusExamples};
constinit const Command kBlueprintWhyCommand{.path = "blueprint why",
                                             .summary = "Say why an object is there, or not there",
                                             .run = run_why,
                                             .arguments = kWhyArguments,
                                             .flags = kWhyGroups,
                                             .examples = kWhyExamples};

}  // namespace mist::cli
