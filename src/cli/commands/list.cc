#include "base/text.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/release_flags.h"

namespace mist::cli {
namespace {

using encoding::Value;
using release::RevisionStatus;

constexpr Flag kFlags[] = {{.name = "all-namespaces", .letter = 'A', .help = "Releases of every namespace"}};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kOutputFlags};
constexpr Example kExamples[] = {{"mistctl list -A", "Everything that Mistletoe installed in the cluster"}};

Tone tone_of(RevisionStatus status) {
  switch (status) {
    case RevisionStatus::Deployed:
      return Tone::Good;
    case RevisionStatus::Failed:
      return Tone::Bad;
    case RevisionStatus::Pending:
    case RevisionStatus::Superseded:
    case RevisionStatus::Uninstalling:
      return Tone::Warning;
  }
  return Tone::Plain;
}

Value release_value(const release::Anchor& anchor) {
  const release::Head& head = anchor.head;
  return Value::object({{"name", anchor.id.name},
                        {"namespace", anchor.id.ns},
                        {"revision", number_or_null(head.latest)},
                        {"deployedRevision", number_or_null(head.deployed)},
                        {"status", release::to_string(head.status)},
                        {"package", head.package},
                        {"packageVersion", text_or_null(head.package_version)},
                        {"objects", head.objects},
                        {"updated", head.updated},
                        {"lockedBy", text_or_null(anchor.lock ? anchor.lock->holder : std::string())}});
}

Result<ExitCode> run_list(const Invocation& invocation, World& world) {
  MIST_TRY(const Cluster cluster, open_cluster(invocation, world));
  const bool all = invocation.enabled("all-namespaces");
  const std::string ns = all ? std::string() : cluster.client->default_namespace();
  const Activity reading(*world.events, "reading the releases");
  release::Store store(*cluster.client);
  MIST_TRY(const std::vector<release::Anchor> anchors, store.list_anchors(ns, world.context));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    Value::Array releases;
    for (const release::Anchor& anchor : anchors) releases.push_back(release_value(anchor));
    print_value(world, format, Value::object({{"releases", Value(std::move(releases))}}));
    return ExitCode::Ok;
  }
  if (anchors.empty()) {
    world.events->info(all ? "no releases"
                           : fmt::format("no releases in namespace {}; -A lists every namespace", ns));
    return ExitCode::Ok;
  }
  Table table({"NAMESPACE", "NAME", "REVISION", "STATUS", "OBJECTS", "UPDATED", "PACKAGE"});
  for (const release::Anchor& anchor : anchors)
    table.add({{anchor.id.ns},
               {anchor.id.name},
               {anchor.head.latest < 0 ? "-" : fmt::format("v{}", anchor.head.latest)},
               {std::string(release::to_string(anchor.head.status)) + (anchor.lock ? " (locked)" : ""),
                tone_of(anchor.head.status)},
               {fmt::format("{}", anchor.head.objects)},
               {age(world, anchor.head.updated)},
               {anchor.head.package}});
  world.out.write(table.render(world.color_out));
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
