#include "action/query/release_filter.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/parse/flags.h"
#include "cli/release_flags.h"
#include "view/releases.h"

namespace mist::cli {
namespace {

constexpr std::string_view kOrders[] = {"name", "updated", "status", "package"};
constexpr Flag kFlags[] = {
    {.name = "all-namespaces", .letter = 'A', .help = "Releases of every namespace"},
    {.name = "filter",
     .type = FlagType::Text,
     .value = "REGEX",
     .help = "Only releases in whose name this regular expression is found"},
    {.name = "deployed", .help = "Only deployed ones; with other statuses, those too"},
    {.name = "failed", .help = "Only those whose last install, upgrade or rollback failed"},
    {.name = "pending", .help = "Only those that are being written, or whose writer died"},
    {.name = "uninstalling", .help = "Only those whose uninstall has not ended"},
    {.name = "sort-by",
     .type = FlagType::Choice,
     .value = "FIELD",
     .help = "updated: the latest first; status: failed and unfinished ones first",
     .fallback = "name",
     .choices = kOrders},
    {.name = "reverse", .help = "The other way round"},
    {.name = "max",
     .type = FlagType::Number,
     .value = "N",
     .help = "Show at most so many; 0: all",
     .fallback = "0"},
    {.name = "short", .help = "Only names, for scripts; with -A as NAMESPACE/NAME"},
};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl list -A", "Everything that Mistletoe installed in the cluster"},
    {"mistctl list -A --failed --pending", "Releases that need attention"},
    {"mistctl list --filter ^web --sort-by updated", "Those that begin with web, the latest first"},
};

struct StatusFlag {
  std::string_view name;
  release::RevisionStatus status;
};
constexpr StatusFlag kStatusFlags[] = {
    {"deployed", release::RevisionStatus::Deployed},
    {"failed", release::RevisionStatus::Failed},
    {"pending", release::RevisionStatus::Pending},
    {"uninstalling", release::RevisionStatus::Uninstalling},
};

Result<action::ReleaseFilter> filter_of(const Invocation& invocation) {
  action::ReleaseFilter filter;
  if (const std::string pattern = invocation.text("filter"); !pattern.empty()) {
    auto parsed = Pattern::parse(pattern);
    if (!parsed.ok())
      return error(ErrorKind::Usage, "--filter can't be \"{}\"", escape_controls(pattern))
          .with_because(parsed.error().because)
          .with_hint("a regular expression that is found in the name: ^web, -canary$, api|db");
    filter.name = *std::move(parsed);
  }
  for (const StatusFlag& each : kStatusFlags)
    if (invocation.enabled(each.name)) filter.status.insert(each.status);
  const std::string order = invocation.text("sort-by");
  filter.order = order == "updated"   ? action::ReleaseOrder::Updated
                 : order == "status"  ? action::ReleaseOrder::Status
                 : order == "package" ? action::ReleaseOrder::Package
                                      : action::ReleaseOrder::Name;
  filter.reverse = invocation.enabled("reverse");
  filter.most = static_cast<std::size_t>(invocation.number("max"));
  return filter;
}

void print_names(Machine& machine, const std::vector<release::Anchor>& anchors, bool with_namespace) {
  for (const release::Anchor& anchor : anchors)
    machine.out.write((with_namespace ? anchor.id.display() : anchor.id.name) + "\n");
}

std::string nothing_words(const std::string& ns, std::size_t left_out) {
  const std::string where = ns.empty() ? "" : fmt::format(" in namespace {}", ns);
  const std::string more = ns.empty() ? "" : "; -A lists every namespace";
  if (left_out == 0) return fmt::format("no releases{}{}", where, more);
  return fmt::format("none of the {}{} matches{}", plural(left_out, "release"), where, more);
}

Result<ExitCode> run_list(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const action::ReleaseFilter filter, filter_of(invocation));
  MIST_TRY(const Cluster cluster, open_cluster(invocation, machine));
  const bool all = invocation.enabled("all-namespaces");
  const std::string ns = all ? std::string() : cluster.client->default_namespace();
  const Activity reading(*machine.events, "reading the releases");
  release::Store store(*cluster.client);
  MIST_TRY(std::vector<release::Anchor> there, store.list_anchors(ns, machine.context));
  const std::size_t count = there.size();
  const std::vector<release::Anchor> anchors = action::filtered(std::move(there), filter);
  const OutputFormat format = output_format(invocation);
  if (format != OutputFormat::Table) {
    print_value(machine, format, view::releases_value(anchors));
  } else if (invocation.enabled("short")) {
    print_names(machine, anchors, all);
  } else if (anchors.empty()) {
    machine.events->info(nothing_words(ns, count));
  } else {
    machine.out.write(view::releases_table(anchors, machine.clock.now()).render(machine.color_out));
  }
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
