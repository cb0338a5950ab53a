#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/release_flags.h"
#include "view/releases.h"

namespace mist::cli {
namespace {

constexpr Flag kFlags[] = {{.name = "all-namespaces", .letter = 'A', .help = "Releases of every namespace"}};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kOutputFlags};
constexpr Example kExamples[] = {{"mistctl list -A", "Everything that Mistletoe installed in the cluster"}};

Result<ExitCode> run_list(const Invocation& invocation, World& world) {
  MIST_TRY(const Cluster cluster, open_cluster(invocation, world));
  const bool all = invocation.enabled("all-namespaces");
  const std::string ns = all ? std::string() : cluster.client->default_namespace();
  const Activity reading(*world.events, "reading the releases");
  release::Store store(*cluster.client);
  MIST_TRY(const std::vector<release::Anchor> anchors, store.list_anchors(ns, world.context));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    print_value(world, format, view::releases_value(anchors));
    return ExitCode::Ok;
  }
  if (anchors.empty()) {
    world.events->info(all ? "no releases"
                           : fmt::format("no releases in namespace {}; -A lists every namespace", ns));
    return ExitCode::Ok;
  }
  world.out.write(view::releases_table(anchors, world.clock.now()).render(world.color_out));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kListCommand{.path = "list",
                                     .summary = "List releases",
                                     .run = run_list,
                                     .flags = kGroups,
                                     .examples = kExamples,
                                     .alias = "ls"};

}  // namespace mist::cli
