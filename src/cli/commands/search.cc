// Finding packages: search, registry index.

#include "action/query/search.h"

#include "action/authoring/build_index.h"
#include "action/authoring/index_artifact.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/package_flags.h"
#include "cli/parse/flags.h"
#include "cli/places.h"
#include "cli/registry_access.h"

namespace mist::cli {
namespace {

using encoding::Value;

constexpr std::size_t kMostHits = 1000;

// search

constexpr Argument kWords[] = {
    {.name = "WORD",
     .help = "Beginnings of words in names, titles, descriptions, keywords or maintainers; "
             "all of them",
     .arity = Arity::Any}};
constexpr Flag kSearchFlags[] = {
    {.name = "kind",
     .type = FlagType::Texts,
     .value = "KIND",
     .help = "Only packages that make objects of that kind with their default values: Deployment"},
    {.name = "keyword", .type = FlagType::Texts, .value = "WORD", .help = "Only packages with that keyword"},
    {.name = "maintainer",
     .type = FlagType::Texts,
     .value = "NAME",
     .help = "Only packages of that maintainer"},
    {.name = "registry",
     .type = FlagType::Texts,
     .value = "NAME",
     .help = "Only packages of that registry",
     .completion = Completion::Registry},
    {.name = "limit",
     .type = FlagType::Number,
     .value = "N",
     .help = "At most so many, up to 1000",
     .fallback = "25"},
    {.name = "refresh", .help = "Ask the registries what is new first"},
    kPlainHttpFlag,
};
constexpr FlagGroup kSearchGroups[] = {{"Flags", kSearchFlags}, kOutputFlags};
constexpr Example kSearchExamples[] = {
    {"mistctl search postgres", "In all registries that mistctl registry list shows"},
    {"mistctl search --kind Ingress --kind Certificate", "Packages that make both"},
};

Value to_value(const action::FoundPackage& found) {
  const search::Entry& entry = found.hit.entry;
  const auto list = [](const std::vector<std::string>& texts) {
    return Value(Value::Array(texts.begin(), texts.end()));
  };
  return Value::object({{"reference", found.reference},
                        {"registry", found.hit.registry},
                        {"path", entry.path},
                        {"version", entry.version},
                        {"title", text_or_null(entry.title)},
                        {"description", text_or_null(entry.description)},
                        {"home", text_or_null(entry.home)},
                        {"format", text_or_null(entry.format)},
                        {"versions", list(entry.versions)},
                        {"keywords", list(entry.keywords)},
                        {"maintainers", list(entry.maintainers)},
                        {"kinds", list(entry.kinds)}});
}

// Helm's `search repo WORD` and `search hub WORD` are one here, and every word has to fit.
std::string nothing_fits(std::span<const std::string> words) {
  if (words.size() > 1 && (words[0] == "repo" || words[0] == "hub"))
    return fmt::format("no package fits all words; mistctl search {} asks for {} alone", shell_word(words[1]),
                       shell_word(words[1]));
  return "no package fits; mistctl search --refresh asks the registries for what is new";
}

Result<ExitCode> run_search(const Invocation& invocation, Machine& machine) {
  if (invocation.number("limit") < 1)
    return error(ErrorKind::Usage, "--limit must be at least 1")
        .with_hint(fmt::format("at most {} packages are shown", kMostHits));
  const search::Query query{
      .words = invocation.arguments("WORD"),
      .kinds = invocation.texts("kind"),
      .keywords = invocation.texts("keyword"),
      .maintainers = invocation.texts("maintainer"),
      .registries = invocation.texts("registry"),
      .limit = std::min(static_cast<std::size_t>(invocation.number("limit")), kMostHits)};
  MIST_TRY(registry::Registries::Dependencies access, registry_dependencies(invocation, machine));
  const Path database = access.paths.search_index();
  registry::Registries registries(std::move(access));
  MIST_TRY(const std::vector<action::FoundPackage> found,
           action::search_packages(
               {machine.files, machine.clock, *machine.events, registries, database}, query,
               invocation.enabled("refresh") ? action::Freshness::Ask : action::Freshness::Known,
               machine.context));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    Value items{Value::Array{}};
    for (const action::FoundPackage& each : found) items.push_back(to_value(each));
    print_value(machine, format, Value::object({{"packages", std::move(items)}}));
    return ExitCode::Ok;
  }
  Table table({"PACKAGE", "VERSION", "DESCRIPTION"});
  for (const action::FoundPackage& each : found) {
    const search::Entry& entry = each.hit.entry;
    table.add({{fmt::format("{}/{}", each.hit.registry, entry.path)},
               {entry.version},
               {entry.description.substr(0, entry.description.find('\n'))}});
  }
  if (table.empty())
    machine.events->info(nothing_fits(query.words));
  else
    machine.out.write(table.render(machine.color_out));
  return ExitCode::Ok;
}

// registry index

constexpr Argument kPlace[] = {
    {.name = "PLACE",
     .help = "A working copy of a registry in git, or oci://HOST/PATH, what its repositories begin with",
     .completion = Completion::Directory}};
constexpr Flag kIndexFlags[] = {
    {.name = "package",
     .type = FlagType::Texts,
     .value = "PATH",
     .help = "Of an OCI registry: a repository below PLACE. Without it all that the registry lists",
     .rare = true},
    {.name = "all",
     .help = "Read all packages, those too whose entry in the present index fits",
     .rare = true},
    kPlainHttpFlag,
};
constexpr FlagGroup kIndexGroups[] = {{"Flags", kIndexFlags}, kSandboxFlags, kOutputFlags};
constexpr Example kIndexExamples[] = {
    {"mistctl registry index ./packages", "Writes ./packages/mistletoe-index.jsonl; commit it"},
    {"mistctl registry index oci://registry.example/team",
     "Pushes oci://registry.example/team/mistletoe-index:v1"},
};

struct IndexPlace {
  std::string text;
  bool is_oci = false;
};

// Of an index that can't be read, nothing is taken.
Result<std::vector<search::Entry>> entries_before(const IndexPlace& place, const Path& file, Machine& machine,
                                                  registry::Registries& registries) {
  std::vector<search::Entry> entries;
  if (!place.is_oci) {
    const Result<std::string> text = machine.files.read(file, search::kMostIndexBytes);
    if (!text) return entries;
    Result<search::Index> index = search::parse_index(*text, file.string());
    if (index) return std::move(index->entries);
    machine.events->warn(fmt::format("{}; it is rebuilt", escape_controls(index.error().to_line())));
    return entries;
  }
  MIST_TRY(registry::OciClient* const client, registries.oci_client());
  Result<action::FetchedIndex> fetched = action::fetch_index(*client, place.text, {}, machine.context);
  if (!fetched && (fetched.error().kind == ErrorKind::NotFound || fetched.error().kind == ErrorKind::Invalid))
    return entries;
  if (!fetched) return std::move(fetched).error();
  for (search::Shard& shard : fetched->shards)
    for (search::Entry& entry : shard.entries) entries.push_back(std::move(entry));
  return entries;
}

Result<ExitCode> run_index(const Invocation& invocation, Machine& machine) {
  IndexPlace place{invocation.argument("PLACE"), false};
  place.is_oci = place.text.starts_with(oci::kScheme);
  if (place.is_oci) {
    MIST_TRY(place.text, oci::parse_prefix(place.text));
  }
  if (!place.is_oci && invocation.has("package"))
    return error(ErrorKind::Usage, "--package goes with an OCI registry, and {} is a directory", place.text);
  const Path file = Path(place.text) / search::kIndexFile;
  // Its mirrors may lack versions that the registry itself has now.
  MIST_TRY(registry::Registries::Dependencies access,
           registry_dependencies(invocation, machine, registry::Mirrors::Ignore));
  registry::Registries registries(std::move(access));
  MIST_TRY(const auto packages, open_packages(invocation, machine, registry::Mirrors::Ignore));
  MIST_TRY(const auto renderer, open_renderer(invocation, machine));
  std::vector<search::Entry> before;
  if (!invocation.enabled("all")) {
    MIST_TRY(before, entries_before(place, file, machine, registries));
  }
  const action::IndexDependencies index_dependencies{machine.files, *machine.events, *packages, *renderer};
  action::BuiltIndex built;
  std::string written;
  {
    Activity activity(*machine.events, fmt::format("indexing {}", place.text));
    const auto build = [&]() -> Status {
      if (!place.is_oci) {
        MIST_TRY(built, action::index_directory(index_dependencies, place.text, before, machine.context));
        written = file.string();
        return machine.files.write(file, search::to_index(built.entries), kUsersFile);
      }
      MIST_TRY(registry::OciClient* const client, registries.oci_client());
      MIST_TRY(built, action::index_oci(index_dependencies, *client, place.text, invocation.texts("package"),
                                        before, machine.context));
      MIST_TRY(const registry::PushReport report,
               action::push_index(*client, place.text, built.entries, machine.context));
      written = report.pushed.str();
      registry::warn_of_tag(*machine.events, report.pushed, report.after);
      return {};
    };
    if (Status status = build(); !status) {
      activity.fail();
      return std::move(status).error();
    }
  }
  for (const std::string& each : built.left_out) machine.events->warn(fmt::format("left out: {}", each));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    print_value(machine, format,
                Value::object({{"written", written},
                               {"packages", built.entries.size()},
                               {"read", built.read},
                               {"withoutKinds", built.without_kinds},
                               {"leftOut", built.left_out.size()}}));
    return ExitCode::Ok;
  }
  machine.out.write(written + "\n");
  machine.events->info(
      fmt::format("{}, {} of them read now", plural(built.entries.size(), "package"), built.read));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kSearchCommand{.path = "search",
                                       .summary = "Find packages in the configured registries",
                                       .run = run_search,
                                       .arguments = kWords,
                                       .flags = kSearchGroups,
                                       .examples = kSearchExamples,
                                       .cluster = ClusterUse::None};

constinit const Command kRegistryIndexCommand{
    .path = "registry index",
    .summary = "Make the index by which a registry's packages are found",
    .run = run_index,
    .arguments = kPlace,
    .flags = kIndexGroups,
    .examples = kIndexExamples,
    .cluster = ClusterUse::None};

}  // namespace mist::cli
