// kpm: the Kubernetes Package Manager's commands over $KPM_HOME (src/kpm) and the release engine;
// kpm_install.cc and kpm_trial.cc have the longer ones.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/kpm_home.h"
#include "cli/kubes.h"
#include "cli/output/help.h"
#include "cli/output/manual.h"
#include "cli/output/output.h"
#include "cli/parse/flags.h"
#include "cli/release_flags.h"
#include "config/redact.h"
#include "kpm/dependencies.h"
#include "kpm/home.h"
#include "registry/local_source.h"
#include "registry/package_blob.h"

namespace mist::cli {
namespace {

using encoding::Value;
using registry::PackageTree;

// update

void warn_incomplete(Machine& machine, const kpm::Archive& archive, const Error& why) {
  tell_caution(machine, fmt::format("WARNING: The contents of some Kubes of {} are missing: {}", archive.name,
                                    why.to_line()));
  tell_caution(machine, "Installing one of them asks its server; kpm update fetches what is missing.");
}

Result<ExitCode> run_update(const Invocation&, Machine& machine) {
  MIST_TRY(kpm::Home home, open_kpm_home(machine));
  MIST_TRY(const std::vector<kpm::Archive> archives, home.archives());
  if (archives.empty()) return std::move(home.catalog(machine.context)).error();
  tell_step(machine, "Fetching updates...");
  std::optional<Error> failed;
  for (const kpm::Archive& each : archives) {
    Result<std::optional<Error>> updated = home.update(each, machine.context);
    if (updated.ok()) {
      if (*updated) warn_incomplete(machine, each, **updated);
      continue;
    }
    if (failed) tell_caution(machine, failed->to_line());
    failed = std::move(updated).error();
    if (failed->kind == ErrorKind::Cancelled) break;
  }
  if (failed) return *std::move(failed);
  MIST_TRY(const kpm::Catalog catalog, read_kpm_catalog(machine, home));
  for (const Error& problem : catalog.problems) {
    const auto* const faults = problem.detail<kpm::K3Faults>();
    for (const Error& each : faults == nullptr ? std::vector{problem} : faults->all)
      tell_caution(machine, fmt::format("WARNING: {}", each.to_line()));
  }
  tell_step(machine, "Done");
  return ExitCode::Ok;
}

// search

constexpr Argument kPattern[] = {{.name = "PATTERN",
                                  .help = "Part of a name or description; without one every Kube",
                                  .arity = Arity::Optional}};

std::string search_line(const kpm::Listed& listed) {
  return fmt::format("\t{}: {}\n", listed.k3.name, escape_controls(listed.k3.description));
}

// A Kube of an archive with its versions that aren't yanked, in the order of the archive. It is described as
// the version is that install would choose.
Value kubes_value(const std::vector<const kpm::Listed*>& found) {
  Value kubes = Value::array();
  for (std::size_t i = 0; i < found.size();) {
    const kpm::Listed* chosen = found[i];
    Value versions = Value::array();
    const auto is_same = [&](const kpm::Listed& each) {
      return each.archive == chosen->archive && each.k3.name == chosen->k3.name;
    };
    for (; i < found.size() && is_same(*found[i]); ++i) {
      if (kpm::is_preferred(found[i]->k3.version, chosen->k3.version)) chosen = found[i];
      versions.push_back(found[i]->k3.version.to_string());
    }
    kubes.push_back(Value::object({{"archive", chosen->archive},
                                   {"name", chosen->k3.name},
                                   {"description", text_or_null(chosen->k3.description)},
                                   {"version", chosen->k3.version.to_string()},
                                   {"versions", std::move(versions)}}));
  }
  return kubes;
}

Result<ExitCode> run_search(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const kpm::Home home, open_kpm_home(machine));
  MIST_TRY(const kpm::Catalog catalog, read_kpm_catalog(machine, home));
  const std::string pattern = lower_case(invocation.argument("PATTERN"));
  std::vector<const kpm::Listed*> found;
  for (const kpm::Listed& each : catalog.kubes)
    if (!each.yanked && lower_case(search_line(each)).find(pattern) != std::string::npos)
      found.push_back(&each);
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    print_value(machine, format, Value::object({{"kubes", kubes_value(found)}}));
    return ExitCode::Ok;
  }
  std::vector<std::string> lines;
  for (const kpm::Listed* const each : found)
    if (std::string line = search_line(*each); std::ranges::find(lines, line) == lines.end())
      lines.push_back(std::move(line));
  if (lines.empty()) machine.events->info("no Kube fits; kpm update reads what is new");
  for (const std::string& line : lines) machine.out.write(line);
  return ExitCode::Ok;
}

constexpr FlagGroup kKpmSearchGroups[] = {kOutputFlags};
constexpr FlagGroup kKpmInfoGroups[] = {kOutputFlags};

// info

void field(Machine& machine, std::string_view name, std::string_view text) {
  if (!text.empty()) machine.out.write(fmt::format("\t{}: {}\n", name, escape_controls(text)));
}

std::vector<std::string> provides(const PackageTree& tree) {
  constexpr std::string_view kManifests = "manifests/";
  std::vector<std::string> names;
  for (const registry::PackageFile& file : tree.files) {
    if (file.path == registry::kModuleFile) return {file.path};
    if (file.path.starts_with(kManifests)) names.push_back(file.path.substr(kManifests.size()));
  }
  return names;
}

// A Kube of an archive, or a working copy, as `info` shows it.
struct Described {
  kpm::K3 k3;
  std::vector<std::string> provides = {};
  std::optional<std::string> yanked = {};  // why; empty: no reason was given
  std::string archive = {};                // empty: a working copy
  Path working_copy = {};
};

Result<Described> describe(Machine& machine, kpm::Home& home, const std::string& wanted) {
  MIST_TRY(const std::optional<kpm::Kube> copy, home.working_copy(wanted));
  if (copy) {
    MIST_TRY(const PackageTree tree, registry::read_directory_tree(machine.files, copy->directory));
    return Described{.k3 = copy->k3, .provides = provides(tree), .working_copy = copy->directory};
  }
  MIST_TRY(const kpm::Catalog catalog, read_kpm_catalog(machine, home, wanted));
  MIST_TRY(const kpm::Listed listed, kpm::Home::choose(catalog, wanted));
  MIST_TRY(const PackageTree tree, home.tree_of(listed, machine.context));
  Described found{.k3 = listed.k3, .provides = provides(tree), .archive = listed.archive};
  if (listed.yanked) found.yanked = listed.yank_reason;
  return found;
}

Value described_value(const Described& found) {
  Value maintainers = Value::array(), dependencies = Value::array(), files = Value::array();
  for (const std::string& each : found.k3.maintainers) maintainers.push_back(each);
  for (const kpm::Dependency& each : found.k3.dependencies)
    dependencies.push_back(Value::object(
        {{"name", each.name}, {"version", each.range.text()}, {"repo", text_or_null(each.repo)}}));
  for (const std::string& each : found.provides) files.push_back(each);
  return Value::object(
      {{"name", found.k3.name},
       {"version", found.k3.version.to_string()},
       {"description", text_or_null(found.k3.description)},
       {"details", text_or_null(found.k3.details)},
       {"home", text_or_null(found.k3.home)},
       {"maintainers", std::move(maintainers)},
       {"dependencies", std::move(dependencies)},
       {"provides", std::move(files)},
       {"archive", text_or_null(found.archive)},
       {"workingCopy", text_or_null(found.working_copy.string())},
       {"yanked", found.yanked ? Value::object({{"reason", text_or_null(*found.yanked)}}) : Value()}});
}

void print_described(Machine& machine, const Described& found) {
  const kpm::K3& k3 = found.k3;
  field(machine, "Name", k3.name);
  field(machine, "Description", k3.description);
  field(machine, "Version", k3.version.to_string());
  if (found.yanked) field(machine, "Yanked", found.yanked->empty() ? "no reason was given" : *found.yanked);
  field(machine, "Website", k3.home);
  field(machine, "Maintainers", join(k3.maintainers, ", "));
  std::vector<std::string> needs;
  for (const kpm::Dependency& each : k3.dependencies)
    needs.push_back(fmt::format("{} ({})", each.name, each.range.text()));
  field(machine, "Dependencies", join(needs, ", "));
  field(machine, "Provides", join(found.provides, " "));
  field(machine, "Working copy", found.working_copy.string());
  if (k3.details.empty()) return;
  machine.out.write("\tDetails:\n");
  for (const std::string_view line : split(k3.details, '\n'))
    machine.out.write(fmt::format("\t  {}\n", escape_controls(line)));
}

Result<ExitCode> run_info(const Invocation& invocation, Machine& machine) {
  MIST_TRY(kpm::Home home, open_kpm_home(machine));
  MIST_TRY(const Described found, describe(machine, home, invocation.argument("KUBE")));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table)
    print_value(machine, format, described_value(found));
  else
    print_described(machine, found);
  return ExitCode::Ok;
}

// get

Result<ExitCode> run_get(const Invocation& invocation, Machine& machine) {
  MIST_TRY(kpm::Home home, open_kpm_home(machine));
  const std::string wanted = invocation.argument("KUBE");
  MIST_TRY(const kpm::Catalog catalog, read_kpm_catalog(machine, home, wanted));
  MIST_TRY(const kpm::Listed listed, kpm::Home::choose(catalog, wanted));
  MIST_TRY(const kpm::Kube kube, home.get(listed, machine.context));
  tell_step(machine, fmt::format("Downloading {}", listed.k3.name));
  tell_step(machine, fmt::format("Cached files into {}/", kube.directory.string()));
  if (kube.is_module())
    tell_step(
        machine,
        fmt::format("{} is a WebAssembly module, in which nothing can be edited: set values (-f, --set) "
                    "when you install it",
                    kube.package.filename().string()));
  return ExitCode::Ok;
}

// uninstall

constexpr Flag kUninstallFlags[] = {
    {.name = "wait", .help = "Return only when everything is gone"},
    {.name = "ignore-not-found", .help = "A release that does not exist is no error"},
    kNoHooksFlag,
    {.name = "timeout",
     .type = FlagType::Duration,
     .value = "TIME",
     .help = "How long the whole command may take",
     .fallback = "5m"},
    {.name = "dry-run",
     .type = FlagType::Choice,
     .value = "WHERE",
     .help = "Only show what would be deleted",
     .fallback = "none",
     .choices = kDryRunChoices,
     .implied = "client"},
};
constexpr FlagGroup kUninstallGroups[] = {
    {"Flags", kUninstallFlags}, kPruneFlags, kConfirmFlags, kLockFlags, kOutputFlags};
constexpr Argument kInstalled[] = {
    {.name = "NAME", .help = "Name of the Kube, or of its release", .completion = Completion::Release}};

Result<ExitCode> run_uninstall(const Invocation& invocation, Machine& machine) {
  return kUninstallCommand.run(invocation, machine);
}

// list

constexpr Flag kListFlags[] = {{.name = "all-namespaces", .letter = 'A', .help = "Of every namespace"}};
constexpr FlagGroup kListGroups[] = {{"Flags", kListFlags}, kOutputFlags};

Value installed_value(const std::vector<release::Anchor>& anchors) {
  Value kubes = Value::array();
  for (const release::Anchor& each : anchors)
    kubes.push_back(Value::object({{"name", each.id.name},
                                   {"namespace", each.id.ns},
                                   {"version", text_or_null(each.head.package_version)},
                                   {"revision", each.head.latest},
                                   {"status", release::to_string(each.head.status)}}));
  return kubes;
}

Result<ExitCode> run_list(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const Cluster cluster, open_cluster(invocation, machine));
  release::Store store(*cluster.client);
  const bool all = invocation.enabled("all-namespaces");
  MIST_TRY(const std::vector<release::Anchor> anchors,
           store.list_anchors(all ? std::string() : cluster.client->default_namespace(), machine.context));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    print_value(machine, format, Value::object({{"kubes", installed_value(anchors)}}));
    return ExitCode::Ok;
  }
  for (const release::Anchor& each : anchors)
    machine.out.write(fmt::format(
        "\t{}: {}\n", all ? each.id.display() : each.id.name,
        each.head.package_version.empty() ? "no version" : escape_controls(each.head.package_version)));
  if (anchors.empty()) machine.events->info("no Kube is installed here; -A lists every namespace");
  return ExitCode::Ok;
}

// help

constexpr Argument kHelpArguments[] = {{.name = "COMMAND",
                                        .help = "One of the commands, or kpm for the manual page; "
                                                "without it all of them are listed",
                                        .arity = Arity::Optional}};

Result<ExitCode> run_kpm_help(const Invocation& invocation, Machine& machine) {
  const std::string word = invocation.argument("COMMAND");
  if (const ManualPage* const page = word == "kpm" ? find_page(word) : nullptr; page != nullptr) {
    machine.out.write(render_page(*page, machine.out.columns(), machine.color_out));
    return ExitCode::Ok;
  }
  if (!word.empty()) {
    CommandTable table = command_table();
    table.called_as = invocation.called_as();
    MIST_TRY(const HelpTopic topic, topic_of({"kpm", word}, table));
    machine.out.write(help_text(topic, table, machine.out.columns(), machine.color_out));
    return ExitCode::Ok;
  }
  for (const Command* const each : command_table().commands)
    if (each->path.starts_with("kpm "))
      machine.out.write(fmt::format("  {:<19} {}\n", each->path, each->summary));
  machine.out.write("\nkpm help COMMAND shows more about each, and kpm help kpm the manual page.\n");
  return ExitCode::Ok;
}

// archive

constexpr Argument kNewArchive[] = {{.name = "NAME", .help = "Your name for the archive"},
                                    {.name = "URL", .help = "Its git repository, or a service"}};
constexpr Flag kArchiveFlags[] = {
    {.name = "service",
     .help = "URL is a service that collects Kubes of many repositories (mistletoe-catalog)"}};
constexpr FlagGroup kArchiveGroups[] = {{"Flags", kArchiveFlags}};
constexpr Argument kArchive[] = {{.name = "NAME", .help = "Name of the archive"}};

Result<ExitCode> run_archive_add(const Invocation& invocation, Machine& machine) {
  MIST_TRY(kpm::Home home, open_kpm_home(machine));
  MIST_TRY_VOID(home.add_archive({.name = invocation.argument("NAME"),
                                  .url = invocation.argument("URL"),
                                  .is_service = invocation.enabled("service")},
                                 machine.context));
  machine.events->info("kpm update reads what it holds");
  return ExitCode::Ok;
}

Result<ExitCode> run_archive_list(const Invocation&, Machine& machine) {
  MIST_TRY(const kpm::Home home, open_kpm_home(machine));
  MIST_TRY(const std::vector<kpm::Archive> archives, home.archives());
  for (const kpm::Archive& each : archives)
    machine.out.write(fmt::format("\t{}: {}\n", each.name, config::redact_urls(each.url)));
  return ExitCode::Ok;
}

Result<ExitCode> run_archive_remove(const Invocation& invocation, Machine& machine) {
  MIST_TRY(kpm::Home home, open_kpm_home(machine));
  MIST_TRY_VOID(home.remove_archive(invocation.argument("NAME"), machine.context));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kKpmListCommand{
    .path = "kpm list", .summary = "List the installed Kubes", .run = run_list, .flags = kListGroups};
constinit const Command kKpmSearchCommand{.path = "kpm search",
                                          .summary = "Find Kubes in the archives",
                                          .run = run_search,
                                          .arguments = kPattern,
                                          .flags = kKpmSearchGroups,
                                          .cluster = ClusterUse::None};
constinit const Command kKpmInfoCommand{.path = "kpm info",
                                        .summary = "Describe a Kube",
                                        .run = run_info,
                                        .arguments = kKube,
                                        .flags = kKpmInfoGroups,
                                        .cluster = ClusterUse::None};
constinit const Command kKpmGetCommand{.path = "kpm get",
                                       .summary = "Make a working copy of a Kube",
                                       .run = run_get,
                                       .arguments = kKube,
                                       .cluster = ClusterUse::None};
constinit const Command kKpmUninstallCommand{.path = "kpm uninstall",
                                             .summary = "Delete an installed Kube",
                                             .run = run_uninstall,
                                             .arguments = kInstalled,
                                             .flags = kUninstallGroups};
constinit const Command kKpmUpdateCommand{.path = "kpm update",
                                          .summary = "Read again what the archives hold",
                                          .run = run_update,
                                          .cluster = ClusterUse::None};
constinit const Command kKpmHelpCommand{.path = "kpm help",
                                        .summary = "List the commands, or describe one",
                                        .run = run_kpm_help,
                                        .arguments = kHelpArguments,
                                        .cluster = ClusterUse::None};
constinit const Command kKpmArchiveAddCommand{.path = "kpm archive-add",
                                              .summary = "Configure an archive",
                                              .run = run_archive_add,
                                              .arguments = kNewArchive,
                                              .flags = kArchiveGroups,
                                              .cluster = ClusterUse::None};
constinit const Command kKpmArchiveListCommand{.path = "kpm archive-list",
                                               .summary = "List the configured archives",
                                               .run = run_archive_list,
                                               .cluster = ClusterUse::None};
constinit const Command kKpmArchiveRemoveCommand{.path = "kpm archive-remove",
                                                 .summary = "Forget an archive and what was read from it",
                                                 .run = run_archive_remove,
                                                 .arguments = kArchive,
                                                 .cluster = ClusterUse::None};

}  // namespace mist::cli
