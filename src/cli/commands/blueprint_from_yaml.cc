// mistctl blueprint from-yaml.

#include "action/authoring/blueprint_cases.h"
#include "action/authoring/blueprint_draft.h"
#include "action/authoring/blueprint_source.h"
#include "base/text.h"
#include "blueprint/evaluator.h"
#include "cli/blueprint_flags.h"
#include "cli/commands.h"
#include "cli/named_file.h"
#include "cli/new_files.h"
#include "cli/package_flags.h"
#include "cli/parse/invocation.h"
#include "cli/templates.h"
#include "encoding/json.h"

namespace mist::cli {
namespace {

constexpr std::uint64_t kMostManifests = std::uint64_t{16} << 20;

constexpr Argument kArguments[] = {kNewBlueprintName, kNewBlueprintDirectory};
constexpr Flag kFlags[] = {
    {.name = "filename",
     .letter = 'f',
     .type = FlagType::Texts,
     .value = "FILE",
     .help = "Manifests: a file, a directory (its *.yaml, *.yml and *.json), or - for standard input",
     .completion = Completion::File},
    kBlueprintGroupFlag};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kSandboxFlags};
constexpr Example kExamples[] = {
    {"mistctl blueprint from-yaml web-app -f deploy/", "A draft from the manifests in a directory"},
    {"kubectl get deploy,svc -o yaml | mistctl blueprint from-yaml web -f -",
     "From objects on a cluster, without fields that only the server sets"},
};

bool is_manifest(const std::string& name) {
  return name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
}

Status read_into(Machine& machine, const std::string& name, std::map<std::string, std::string>& texts) {
  if (name == kStandardInput) {
    MIST_TRY(texts["standard input"], read_named_file(machine, name, kMostManifests));
    return {};
  }
  if (!machine.files.is_directory(name)) {
    MIST_TRY(texts[name], machine.files.read(name, kMostManifests));
    return {};
  }
  MIST_TRY(const std::vector<DirectoryEntry> entries, machine.files.list(name));
  bool any = false;
  for (const DirectoryEntry& entry : entries) {
    if (entry.is_directory || !is_manifest(entry.name)) continue;
    const Path path = Path(name) / entry.name;
    MIST_TRY(texts[path.string()], machine.files.read(path, kMostManifests));
    any = true;
  }
  if (any) return {};
  return error(ErrorKind::NotFound, "{} has no manifests", escape_controls(name))
      .with_hint("*.yaml, *.yml and *.json of the directory itself are read");
}

// A field that Nickel reads as something else would make a draft of which nothing works.
Status check_draft(const Invocation& invocation, const std::string& name, const Path& directory,
                   const action::BlueprintDraft& draft, Machine& machine) {
  action::BlueprintSource source{.name = name, .path = directory, .files = {}};
  source.files.emplace(blueprint::kEntry, draft.files.at(std::string(blueprint::kEntry)));
  MIST_TRY(const auto renderer, open_renderer(invocation, machine));
  MIST_TRY(blueprint::Evaluator evaluator, blueprint::Evaluator::of(name, source.files, *renderer));
  const auto described = evaluator.describe(machine.context);
  if (described.ok()) return {};
  return action::shown_error(source, described.error())
      .with_frame("while evaluating the draft")
      .with_hint(fmt::format("this is a defect of mistctl; the draft is in {}, for you to fix it",
                             escape_controls(directory.string())));
}

void report(const action::BlueprintDraft& draft, const Path& directory, Machine& machine) {
  for (const action::DraftedField& field : draft.fields)
    machine.events->info(fmt::format("spec.{} is {} of {} in the manifests", field.name,
                                     escape_controls(encoding::to_json(field.value)),
                                     escape_controls(field.object)));
  for (const std::string& warning : draft.warnings) machine.events->warn(escape_controls(warning));
  machine.events->info(fmt::format("{}, {} and {} drafted; next: mistctl blueprint check {}",
                                   plural(draft.nodes, "node"), plural(draft.also, "Also edge"),
                                   plural(draft.sequence, "Sequence edge"), directory.string()));
}

Result<ExitCode> run_from_yaml(const Invocation& invocation, Machine& machine) {
  const std::string name = invocation.argument("NAME"), group = invocation.text("group");
  MIST_TRY_VOID(check_blueprint_names(name, group));
  const std::vector<std::string> given = invocation.texts("filename");
  if (given.empty())
    return error(ErrorKind::Usage, "there are no manifests to begin from")
        .with_hint(
            fmt::format("name them with -f, or begin with an example: mistctl blueprint init {}", name));
  std::map<std::string, std::string> texts;
  for (const std::string& each : given) MIST_TRY_VOID(read_into(machine, each, texts));
  MIST_TRY(std::vector<apimachinery::Object> objects, action::objects_of_manifests(texts));
  MIST_TRY(const action::BlueprintDraft draft,
           action::draft_blueprint(std::move(objects),
                                   {.blueprint = name, .group = group, .kind = kind_for(name)}));
  Path directory = invocation.argument("DIR");
  if (directory.empty()) directory = name;
  MIST_TRY_VOID(write_new_files(machine, directory, draft.files));
  MIST_TRY_VOID(check_draft(invocation, name, directory, draft, machine));
  machine.out.write(directory.string() + "\n");
  report(draft, directory, machine);
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kBlueprintFromYamlCommand{.path = "blueprint from-yaml",
                                                  .summary = "Draft a blueprint from existing manifests",
                                                  .run = run_from_yaml,
                                                  .arguments = kArguments,
                                                  .flags = kGroups,
                                                  .examples = kExamples,
                                                  .cluster = ClusterUse::None};

}  // namespace mist::cli
