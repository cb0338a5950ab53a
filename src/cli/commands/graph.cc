#include "action/query/graph.h"
#include "action/query/package_graph.h"
#include "apply/plan/desired.h"
#include "apply/plan/test_objects.h"
#include "cli/commands.h"
#include "cli/offline.h"
#include "cli/output/output.h"
#include "cli/package_flags.h"
#include "cli/registry_access.h"
#include "cli/release_flags.h"
#include "package/value_places.h"
#include "view/graph_drawing.h"
#include "view/package_drawing.h"

namespace mist::cli {
namespace {

constexpr Argument kArguments[] = {{.name = "NAME",
                                    .help = "Name of the release; may be left out with -p",
                                    .arity = Arity::Optional,
                                    .completion = Completion::Release}};
constexpr std::string_view kFormats[] = {"text", "dot", "mermaid", "json"};
constexpr Flag kFlags[] = {
    {.name = "package",
     .letter = 'p',
     .type = FlagType::Text,
     .value = "PACKAGE",
     .help = "A package that need not be installed: it is rendered without a cluster, as generate does",
     .completion = Completion::Package},
    kEngineFlag,
    kPlainHttpFlag,
    {.name = "packages", .help = "Draw which package called which, with versions, and no objects"},
    {.name = "output",
     .letter = 'o',
     .type = FlagType::Choice,
     .value = "FORMAT",
     .help = "How to draw it: dot is for Graphviz",
     .fallback = "text",
     .choices = kFormats},
};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kValuesFlags, kOfflineFlags, kSandboxFlags};
constexpr Example kExamples[] = {
    {"mistctl graph web", "Which object of an installed release comes before which, and why"},
    {"mistctl graph -p ./manifests", "The same of a package, without a cluster"},
    {"mistctl graph web -o dot | dot -Tsvg > web.svg", "As a picture"},
    {"mistctl graph shop --packages", "Which package called which"},
};

// Of the package that -p names.
struct OfflineRelease {
  release::ReleaseId id;
  action::RenderedRelease rendered;
};

Result<OfflineRelease> render_package(const Invocation& invocation, Machine& machine) {
  std::string name = invocation.argument("NAME");
  if (name.empty()) name = "release";
  MIST_TRY(const render::ReleaseFacts release, offline_release(invocation, machine, name));
  MIST_TRY(const auto inputs, read_values(invocation, machine));
  MIST_TRY(package::Source source,
           fetch_package(invocation, machine, invocation.text("package"), invocation.text("engine")));
  MIST_TRY(encoding::Value values, render::values_for(source, inputs, *machine.events));
  MIST_TRY(auto renderer, open_renderer(invocation, machine));
  const render::ReleaseRenderer offline(std::move(renderer), assumed_cluster(invocation));
  MIST_TRY(
      action::RenderedRelease rendered,
      package::with_value_places(offline.render(std::make_shared<const package::Source>(std::move(source)),
                                                std::move(values), {}, release, machine.context),
                                 inputs));
  return OfflineRelease{release.id, std::move(rendered)};
}

Result<action::ReleaseGraph> graph_of_package(const Invocation& invocation, Machine& machine) {
  MIST_TRY(OfflineRelease offline, render_package(invocation, machine));
  action::RenderedRelease& rendered = offline.rendered;
  std::vector<release::RenderedObject> hooks;
  if (rendered.package.engine == apply::kChartEngine) hooks = apply::take_chart_parts(rendered.objects).hooks;
  MIST_TRY_VOID(apply::take_tests(rendered.objects));
  MIST_TRY(std::vector<apply::DesiredObject> desired,
           apply::prepare_offline(std::move(rendered.objects), offline.id));
  std::vector<release::RenderedObject> objects;
  objects.reserve(desired.size());
  for (apply::DesiredObject& object : desired) objects.push_back(std::move(object.rendered));
  return action::graph_of(offline.id, -1, std::move(objects), hooks, apply::HookVerb::Install);
}

// NAME alone.
Status check_names_release(const Invocation& invocation) {
  if (invocation.argument("NAME").empty())
    return error(ErrorKind::Usage, "NAME is missing")
        .with_hint("name a release, or a package with -p: mistctl graph -p ./manifests");
  if (has_values(invocation)) return error(ErrorKind::Usage, "values go with -p only");
  std::vector<std::string_view> flags{kEngineFlag.name, kPlainHttpFlag.name};
  for (const Flag& flag : kOfflineFlagList) flags.push_back(flag.name);
  for (const std::string_view flag : flags)
    if (invocation.has(flag))
      return error(ErrorKind::Usage, "--{} goes with -p only; the record of a release says the rest", flag)
          .with_hint(fmt::format("leave --{} out, or add -p PACKAGE", flag));
  return {};
}

Result<action::ReleaseGraph> find_graph(const Invocation& invocation, Machine& machine) {
  if (invocation.has("package")) return graph_of_package(invocation, machine);
  MIST_TRY_VOID(check_names_release(invocation));
  MIST_TRY(const Cluster cluster, open_cluster(invocation, machine));
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  return action::graph_of_release(cluster.environment, id, machine.context);
}

Result<action::PackageGraph> find_packages(const Invocation& invocation, Machine& machine) {
  if (invocation.has("package")) {
    MIST_TRY(const OfflineRelease offline, render_package(invocation, machine));
    return action::package_graph(offline.id, -1, offline.rendered.package);
  }
  MIST_TRY_VOID(check_names_release(invocation));
  MIST_TRY(const Cluster cluster, open_cluster(invocation, machine));
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  return action::package_graph_of_release(cluster.environment, id, machine.context);
}

Result<ExitCode> draw_packages(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const action::PackageGraph graph, find_packages(invocation, machine));
  const std::string format = invocation.text("output");
  if (format == "json")
    print_value(machine, OutputFormat::Json, view::package_graph_value(graph));
  else if (format == "dot")
    machine.out.write(view::package_graph_dot(graph));
  else if (format == "mermaid")
    machine.out.write(view::package_graph_mermaid(graph));
  else
    machine.out.write(view::package_graph_text(graph, machine.color_out));
  return ExitCode::Ok;
}

Result<ExitCode> run_graph(const Invocation& invocation, Machine& machine) {
  if (invocation.enabled("packages")) return draw_packages(invocation, machine);
  MIST_TRY(const action::ReleaseGraph graph, find_graph(invocation, machine));
  const std::string format = invocation.text("output");
  if (format == "json")
    print_value(machine, OutputFormat::Json, view::graph_value(graph));
  else if (format == "dot")
    machine.out.write(view::graph_dot(graph));
  else if (format == "mermaid")
    machine.out.write(view::graph_mermaid(graph));
  else
    machine.out.write(view::graph_text(graph, machine.color_out));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kGraphCommand{.path = "graph",
                                      .summary = "Show which object comes before which, and why",
                                      .run = run_graph,
                                      .arguments = kArguments,
                                      .flags = kGroups,
                                      .examples = kExamples};

}  // namespace mist::cli
