#include "registry/registry.h"

#include <algorithm>

#include "action/query/search.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/parse/flags.h"
#include "cli/places.h"
#include "cli/registry_access.h"
#include "registry/oci_store.h"

namespace mist::cli {
namespace {

using encoding::Value;

Result<std::unique_ptr<registry::Registries>> open(const Invocation& invocation, Machine& machine) {
  MIST_TRY(registry::Registries::Dependencies access, registry_dependencies(invocation, machine));
  return std::make_unique<registry::Registries>(std::move(access));
}

constexpr Argument kName[] = {
    {.name = "NAME", .help = "Name of the registry", .completion = Completion::Registry},
};

// add

constexpr Argument kNewName[] = {
    {.name = "NAME", .help = "Its name in references: NAME/path/of/package:1.0.0"},
};
constexpr Flag kAddFlags[] = {
    {.name = "git", .letter = 'g', .type = FlagType::Text, .value = "URL", .help = "A git repository"},
    {.name = "directory",
     .letter = 'd',
     .type = FlagType::Text,
     .value = "PATH",
     .help = "A directory of this machine",
     .completion = Completion::Directory},
    {.name = "oci",
     .type = FlagType::Text,
     .value = "URL",
     .help = "Beginning of the repositories of its packages: oci://HOST/PATH"},
    {.name = "helm",
     .type = FlagType::Text,
     .value = "URL",
     .help = "A chart repository, as `helm repo add` takes it: https://HOST/PATH"},
    {.name = "catalog",
     .type = FlagType::Text,
     .value = "URL",
     .help = "A catalog, mistletoe-catalog: https://HOST"},
};
constexpr FlagGroup kAddFlagGroups[] = {{"Flags (one of them)", kAddFlags}};
constexpr Example kAddExamples[] = {
    {"mistctl registry add team -g git@example.com:team/packages.git", "Over ssh, with your key"},
    {"mistctl registry add local -d ./packages", "Packages that are being written"},
    {"mistctl registry add shop --oci oci://registry.example/team",
     "shop/web:1.4.0 is oci://registry.example/team/web:1.4.0 then, and mistctl search looks there too"},
    {"mistctl registry add charts --helm https://charts.example.com",
     "charts/postgresql:^15 is the newest 15 of that chart repository"},
    {"mistctl registry add community --catalog https://catalog.example.com",
     "mistctl search finds what passed the catalog's tests, and community/etcd:1.2.3 installs it"},
};

Result<ExitCode> run_add(const Invocation& invocation, Machine& machine) {
  const bool git = invocation.has("git"), directory = invocation.has("directory"),
             oci = invocation.has("oci"), helm = invocation.has("helm"), catalog = invocation.has("catalog");
  const int places = int{git} + int{directory} + int{oci} + int{helm} + int{catalog};
  if (places != 1)
    return error(ErrorKind::Usage, "{}",
                 places > 1 ? "--git, --directory, --oci, --helm and --catalog exclude each other"
                            : "mistctl registry add needs --git URL, --directory PATH, --oci URL, --helm URL "
                              "or --catalog URL")
        .with_hint("mistctl registry add NAME -g URL, -d PATH, --oci URL, --helm URL, or --catalog URL");
  const std::string name = invocation.argument("NAME");
  MIST_TRY(const auto registries, open(invocation, machine));
  if (oci) {
    MIST_TRY_VOID(
        registries->add(registry::registry_with_oci(name, invocation.text("oci")), machine.context));
    machine.events->info(fmt::format("registry {} added", name));
    return ExitCode::Ok;
  }
  if (helm || catalog) {
    MIST_TRY_VOID(registries->add(helm ? registry::registry_with_helm(name, invocation.text("helm"))
                                       : registry::registry_with_catalog(name, invocation.text("catalog")),
                                  machine.context));
    machine.events->info(fmt::format("registry {} added", name));
    machine.events->info(fmt::format("mistctl registry update {} reads what it holds", name));
    return ExitCode::Ok;
  }
  MIST_TRY_VOID(registries->add(
      git ? registry::registry_with_git(name, invocation.text("git"))
          : registry::registry_with_directory(
                name, std::filesystem::absolute(invocation.text("directory")).lexically_normal().string()),
      machine.context));
  machine.events->info(fmt::format("registry {} added", name));
  if (git) machine.events->info(fmt::format("mistctl registry update {} reads what it holds", name));
  return ExitCode::Ok;
}

// list

constexpr FlagGroup kOutputGroups[] = {kOutputFlags};

std::string_view kind_of(const config::Remote& remote) {
  if (std::holds_alternative<config::GitSource>(remote.source)) return "git";
  if (std::holds_alternative<config::OciSource>(remote.source)) return "oci";
  if (std::holds_alternative<config::HelmSource>(remote.source)) return "helm";
  if (std::holds_alternative<config::CatalogSource>(remote.source)) return "catalog";
  return "directory";
}

Result<ExitCode> run_list(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const auto registries, open(invocation, machine));
  MIST_TRY(const std::vector<config::Registry> list, registries->list());
  const OutputFormat format = output_format(invocation);
  Table table({"NAME", "KIND", "PLACE"});
  Value items{Value::Array{}};
  for (const config::Registry& each : list) {
    const std::string_view kind = kind_of(each.remote());
    const std::string place = config::display(each.remote());
    table.add({{each.name}, {std::string(kind)}, {place}});
    items.push_back(
        Value::object({{"name", Value(each.name)}, {"kind", Value(kind)}, {"place", Value(place)}}));
  }
  if (format != OutputFormat::Table)
    print_value(machine, format, Value::object({{"registries", std::move(items)}}));
  else if (table.empty())
    machine.events->info("no registry is configured; mistctl registry add NAME -g URL adds one");
  else
    machine.out.write(table.render(machine.color_out));
  return ExitCode::Ok;
}

// remove

Result<ExitCode> run_remove(const Invocation& invocation, Machine& machine) {
  const std::string name = invocation.argument("NAME");
  MIST_TRY(const auto registries, open(invocation, machine));
  MIST_TRY_VOID(registries->remove(name, machine.context));
  machine.events->info(fmt::format("registry {} removed", name));
  return ExitCode::Ok;
}

// update

constexpr Argument kSomeNames[] = {
    {.name = "NAME",
     .help = "Registries to update; without one all of them",
     .arity = Arity::Any,
     .completion = Completion::Registry},
};
constexpr Flag kUpdateFlags[] = {
    {.name = "accept-changed",
     .help = "Trust new bytes under versions that were used before, instead of refusing the update"},
};
constexpr FlagGroup kUpdateFlagGroups[] = {{"Flags", kUpdateFlags}, kOutputFlags};
constexpr Example kUpdateExamples[] = {
    {"mistctl registry update", "See what is new everywhere"},
};

std::string change_of(const registry::UpdateReport& report) {
  if (report.after.empty()) return "read in place";
  if (report.before.empty()) return "new";
  return report.before == report.after ? "none" : fmt::format("from {}", report.before.substr(0, 12));
}

Value to_value(const registry::UpdateReport& report) {
  const auto commit = [](const std::string& text) { return text_or_null(text); };
  return Value::object({{"name", Value(report.registry)},
                        {"before", commit(report.before)},
                        {"after", commit(report.after)},
                        {"packages", Value(static_cast<std::uint64_t>(report.packages))},
                        {"versions", Value(static_cast<std::uint64_t>(report.versions))},
                        {"acceptedChanges", Value(static_cast<std::uint64_t>(report.accepted))}});
}

Result<std::vector<std::string>> names_to_update(const Invocation& invocation,
                                                 const registry::Registries& registries) {
  std::vector<std::string> names = invocation.arguments("NAME");
  if (!names.empty()) return names;
  MIST_TRY(const std::vector<config::Registry> list, registries.list());
  for (const config::Registry& each : list) names.push_back(each.name);
  return names;
}

// Of an OCI registry there is nothing here but its index.
Status read_oci_index(const std::string& name, registry::Registries& registries, Machine& machine) {
  MIST_TRY(const std::vector<config::Registry> list, registries.list());
  const auto registry = std::ranges::find(list, name, &config::Registry::name);
  if (registry == list.end() || !std::holds_alternative<config::OciSource>(registry->remote().source))
    return {};
  MIST_TRY(const config::Paths paths, paths_of(machine));
  Status read =
      action::refresh_index({machine.files, machine.clock, *machine.events, registries, paths.search_index()},
                            *registry, action::Freshness::Ask, machine.context);
  if (read || read.error().kind != ErrorKind::NotFound) return read;
  machine.events->warn(fmt::format("{}; {}", read.error().message, read.error().hint));
  return {};
}

Result<ExitCode> run_update(const Invocation& invocation, Machine& machine) {
  const auto changed = invocation.enabled("accept-changed") ? registry::ChangedVersions::Accept
                                                            : registry::ChangedVersions::Refuse;
  MIST_TRY(const auto registries, open(invocation, machine));
  MIST_TRY(const std::vector<std::string> names, names_to_update(invocation, *registries));
  Table table({"NAME", "COMMIT", "CHANGE", "PACKAGES", "VERSIONS"});
  Value items{Value::Array{}};
  std::vector<Error> failures;
  for (const std::string& name : names) {
    auto report = registries->update(name, machine.context, changed);
    if (report.ok())
      if (Status read = read_oci_index(name, *registries, machine); !read) report = std::move(read).error();
    if (!report.ok()) {
      // The configuration says so, and packages that are named are there.
      if (report.error().detail<registry::NotInMirrors>() != nullptr) {
        machine.events->warn(escape_controls(report.error().to_line()));
        continue;
      }
      failures.push_back(std::move(report).error());
      if (failures.back().kind == ErrorKind::Cancelled) return std::move(failures.back());
      continue;
    }
    table.add({{name},
               {report->after.substr(0, 12)},
               {change_of(*report)},
               {fmt::format("{}", report->packages)},
               {fmt::format("{}", report->versions)}});
    items.push_back(to_value(*report));
  }
  const OutputFormat format = output_format(invocation);
  if (format != OutputFormat::Table)
    print_value(machine, format, Value::object({{"registries", std::move(items)}}));
  else if (!table.empty())
    machine.out.write(table.render(machine.color_out));
  if (failures.empty()) return ExitCode::Ok;
  for (std::size_t i = 1; i < failures.size(); ++i) machine.events->warn(failures[i].to_line());
  return std::move(failures.front());
}

}  // namespace

constinit const Command kRegistryAddCommand{.path = "registry add",
                                            .summary = "Configure a registry",
                                            .run = run_add,
                                            .arguments = kNewName,
                                            .flags = kAddFlagGroups,
                                            .examples = kAddExamples,
                                            .cluster = ClusterUse::None};

constinit const Command kRegistryListCommand{.path = "registry list",
                                             .summary = "List the configured registries",
                                             .run = run_list,
                                             .flags = kOutputGroups,
                                             .cluster = ClusterUse::None};

constinit const Command kRegistryRemoveCommand{.path = "registry remove",
                                               .summary = "Forget a registry and what was read from it",
                                               .run = run_remove,
                                               .arguments = kName,
                                               .cluster = ClusterUse::None};

constinit const Command kRegistryUpdateCommand{.path = "registry update",
                                               .summary = "Read again what registries hold",
                                               .run = run_update,
                                               .arguments = kSomeNames,
                                               .flags = kUpdateFlagGroups,
                                               .examples = kUpdateExamples,
                                               .cluster = ClusterUse::None};

}  // namespace mist::cli
