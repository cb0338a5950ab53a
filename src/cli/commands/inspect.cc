#include "action/status.h"

#include <algorithm>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/package_flags.h"
#include "cli/release_flags.h"
#include "encoding/schema.h"
#include "encoding/yaml.h"
#include "release/store.h"

namespace mist::cli {
namespace {

using encoding::Value;

// package

constexpr Argument kPackageArgument[] = {
    {.name = "PACKAGE",
     .help = "REGISTRY/PATH:VERSION, or a path that begins with ./ ../ or /",
     .completion = Completion::Package},
};
constexpr std::string_view kPartsOfPackages[] = {"values"};
constexpr Flag kPackageFlags[] = {{.name = "only",
                                   .type = FlagType::Choice,
                                   .value = "PART",
                                   .help = "Only the values that it starts from, as a file for -f",
                                   .choices = kPartsOfPackages},
                                  kEngineFlag};
constexpr FlagGroup kPackageGroups[] = {{"Flags", kPackageFlags}, kSandboxFlags, kOutputFlags};
constexpr Example kPackageExamples[] = {
    {"mistctl inspect package mistletoe/examples/hello-web:0.1.0",
     "Its metadata and inputs, without running it"},
    {"mistctl inspect package ./my-chart --only values",
     "Its default values, to be changed and given with -f"},
};

std::string type_of(const Value& schema) {
  const Value* type = schema.find("type");
  std::string text = type == nullptr ? "any" : type->is_string() ? type->as_string() : "several";
  if (const Value* choices = schema.find("enum"); choices != nullptr && choices->is_array())
    text = fmt::format("one of {}", choices->size());
  if (type != nullptr && type->is_string() && type->as_string() == "array") {
    if (const Value* items = schema.find("items")) text = "list of " + type_of(*items);
  }
  return text;
}

// `value` is what the package's own file of values has for it; null: nothing.
std::string default_text(const Value& schema, const Value* value) {
  const Value* fallback = schema.find("default");
  if (fallback == nullptr) fallback = value;
  if (fallback == nullptr || (fallback->is_object() && fallback->size() > 0)) return "";
  std::string text = encoding::to_yaml(*fallback);
  while (text.ends_with('\n')) text.pop_back();
  return text.find('\n') == std::string::npos ? text : "…";
}

void add_inputs(const Value& schema, const Value* values, const std::string& prefix, int depth,
                Table& table) {
  const Value* properties = schema.find("properties");
  if (properties == nullptr || !properties->is_object() || depth > 4) return;
  const Value* required = schema.find("required");
  for (const Value::Member& property : properties->as_object()) {
    const bool needed =
        required != nullptr && required->is_array() &&
        std::ranges::find(required->as_array(), Value(property.key)) != required->as_array().end();
    const Value* const value =
        values != nullptr && values->is_object() ? values->find(property.key) : nullptr;
    table.add({{prefix + property.key},
               {type_of(property.value) + (needed ? ", required" : "")},
               {default_text(property.value, value)},
               {std::string(property.value.string_at("description"))}});
    add_inputs(property.value, value, prefix + property.key + ".", depth + 1, table);
  }
}

Value package_value(const package::Source& source, const package::Inspection& inspection) {
  Value value = inspection.metadata.to_value();
  return Value::object(
      {{"reference", source.reference},
       {"digest", source.digest},
       {"format", inspection.format},
       {"engine", inspection.engine.empty()
                      ? Value()
                      : Value::object({{"name", inspection.engine}, {"digest", inspection.engine_digest}})},
       {"bytes", inspection.bytes},
       {"metadata", std::move(value)}});
}

// Without the schema's.
Value default_values(const package::Metadata& metadata) {
  if (metadata.values_file.empty()) return metadata.defaults;
  // What is wrong with it, rendering says.
  return encoding::parse_yaml(metadata.values_file, {}).value_or(metadata.defaults);
}

// As somebody would start a file for -f: the author's own where there is one, with its comments.
Result<ExitCode> print_default_values(World& world, OutputFormat format, const package::Metadata& metadata) {
  Value values = default_values(metadata);
  if (!values.is_object())
    values = metadata.inputs.is_object() ? encoding::schema_defaults(metadata.inputs) : Value::object();
  if (format == OutputFormat::Table && !metadata.values_file.empty()) {
    const std::string& text = metadata.values_file;
    world.out.write(world.out.is_terminal() ? escape_controls(text, true) : text);
    if (!text.ends_with('\n')) world.out.write("\n");
    return ExitCode::Ok;
  }
  print_value(world, format == OutputFormat::Table ? OutputFormat::Yaml : format, values);
  return ExitCode::Ok;
}

Result<ExitCode> run_package(const Invocation& invocation, World& world) {
  MIST_TRY(const package::Source source,
           fetch_package(world, invocation.argument("PACKAGE"), invocation.text("engine")));
  MIST_TRY(const auto renderer, open_renderer(invocation, world));
  MIST_TRY(const package::Inspection inspection, renderer->inspect(source, world.context));
  if (invocation.text("only") == "values")
    return print_default_values(world, output_format(invocation), inspection.metadata);
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    print_value(world, format, package_value(source, inspection));
    return ExitCode::Ok;
  }
  const package::Metadata& metadata = inspection.metadata;
  const auto line = [&](std::string_view name, std::string_view text) {
    if (!text.empty()) world.out.write(fmt::format("{:<13}{}\n", name, escape_controls(text)));
  };
  line("Name", metadata.name);
  line("Version", metadata.version);
  line("Description", metadata.description);
  line("Home", metadata.home);
  line("Maintainers", join(metadata.maintainers, ", "));
  line("Reference", source.reference);
  line("Digest", source.digest);
  line("Format", fmt::format("{}, {} bytes", inspection.format, inspection.bytes));
  if (!inspection.engine.empty())
    line("Engine", fmt::format("{} {}", inspection.engine, inspection.engine_digest));
  for (const auto& [key, text] : metadata.labels) line("Label", fmt::format("{}={}", key, text));
  for (const package::Dependency& dependency : metadata.dependencies)
    line("Depends on", fmt::format("{} {} as {}", dependency.package, dependency.version, dependency.name));
  line("Reads", join(metadata.needs_cluster_read, ", "));
  if (metadata.inputs.is_null()) {
    line("Inputs", "the package does not say");
    return ExitCode::Ok;
  }
  Table table({"INPUT", "TYPE", "DEFAULT", "DESCRIPTION"});
  const Value defaults = default_values(metadata);
  add_inputs(metadata.inputs, &defaults, "", 0, table);
  world.out.write(
      "\n" + (table.empty() ? std::string("The package takes no inputs.\n") : table.render(world.color_out)));
  return ExitCode::Ok;
}

// release

constexpr std::string_view kPartsOfReleases[] = {"values", "manifest"};
constexpr Flag kReleaseFlags[] = {
    {.name = "revision",
     .type = FlagType::Text,
     .value = "REVISION",
     .help = "That one, as mistctl history shows it, instead of the deployed one and those after it",
     .completion = Completion::Revision},
    {.name = "only",
     .type = FlagType::Choice,
     .value = "PART",
     .help = "Only the values that the user gave, as a file for -f, or only the objects, as one for kubectl",
     .choices = kPartsOfReleases},
    {.name = "show-secrets", .help = "Print the data of Secrets instead of ***"}};
constexpr FlagGroup kReleaseGroups[] = {{"Flags", kReleaseFlags}, kOutputFlags};
constexpr Example kReleaseExamples[] = {
    {"mistctl inspect release web -o yaml", "Package, values and every object as it was rendered"},
    {"mistctl inspect release web --only values --revision v3",
     "What revision v3 was given with -f and --set"},
    {"mistctl inspect release web --only manifest", "The objects of the deployed revision"},
};

// A Secret's data is for its readers in the cluster, not for a terminal or a log of CI.
Value masked(Value object, bool show) {
  if (show || object.string_at("kind") != "Secret" || object.string_at("apiVersion") != "v1") return object;
  if (Value* data = object.find("data"); data != nullptr && data->is_object()) {
    for (Value::Member& member : data->as_object()) member.value = Value("***");
  }
  return object;
}

Value revision_value(const release::Revision& revision, bool show) {
  Value::Array objects;
  for (const release::RenderedObject& rendered : revision.objects)
    objects.push_back(Value::object({{"file", rendered.file},
                                     {"line", rendered.line},
                                     {"object", masked(rendered.object.value(), show)}}));
  return Value::object({{"revision", revision.number},
                        {"action", revision.action},
                        {"status", release::to_string(revision.status)},
                        {"created", revision.created},
                        {"package", Value::object({{"reference", revision.package.reference},
                                                   {"name", revision.package.name},
                                                   {"version", revision.package.version},
                                                   {"digest", revision.package.digest},
                                                   {"engine", text_or_null(revision.package.engine)}})},
                        {"values", revision.user_values},
                        {"drawn", release::to_value(revision.drawn)},
                        {"inventory", release::to_value(revision.inventory)},
                        {"objects", Value(std::move(objects))}});
}

// The objects as one file, or as a List.
void print_manifest(World& world, OutputFormat format, const release::Revision& revision, bool show) {
  std::vector<Value> objects;
  for (const release::RenderedObject& rendered : revision.objects)
    objects.push_back(masked(rendered.object.value(), show));
  if (format != OutputFormat::Json) return world.out.write(encoding::to_yaml_documents(objects));
  print_value(world, format,
              Value::object({{"apiVersion", "v1"}, {"kind", "List"}, {"items", Value(std::move(objects))}}));
}

Result<release::Revision> kept_revision(kube::Client& client, const release::ReleaseId& id, int number,
                                        const Context& context) {
  release::Store store(client);
  MIST_TRY(std::optional<release::Revision> revision, store.read_revision(id, number, context));
  if (!revision)
    return error(ErrorKind::NotFound, "release {} has no revision v{}, or it is not kept any more",
                 id.display(), number)
        .with_hint(fmt::format("see mistctl history {} -n {}", id.name, id.ns));
  return *std::move(revision);
}

Value lock_value(const release::Anchor& anchor) {
  if (!anchor.lock) return {};
  return release::to_value(*anchor.lock);
}

Result<ExitCode> run_release(const Invocation& invocation, World& world) {
  MIST_TRY(const std::optional<int> number, revision_number(invocation.text("revision")));
  const std::string only = invocation.text("only");
  MIST_TRY(const Cluster cluster, open_cluster(invocation, world));
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  MIST_TRY(action::ReleaseState state, action::read_release(cluster.environment, id, world.context));
  if (!state.anchor)
    return error(ErrorKind::NotFound, "release {} does not exist", id.display())
        .with_hint("see mistctl list -A");
  const bool show = invocation.enabled("show-secrets");
  std::vector<release::Revision> chosen;
  if (number) {
    MIST_TRY(release::Revision revision, kept_revision(*cluster.client, id, *number, world.context));
    chosen.push_back(std::move(revision));
  } else {
    if (state.deployed) chosen.push_back(*std::move(state.deployed));
    std::ranges::move(state.unfinished, std::back_inserter(chosen));
  }
  const OutputFormat format = output_format(invocation);
  if (!only.empty()) {
    if (chosen.empty())
      return error(ErrorKind::NotFound, "no revision of release {} was recorded so far", id.display());
    const release::Revision& first = chosen.front();
    if (only == "manifest")
      print_manifest(world, format, first, show);
    else
      print_value(world, format == OutputFormat::Table ? OutputFormat::Yaml : format, first.user_values);
    return ExitCode::Ok;
  }
  Value::Array revisions;
  for (const release::Revision& revision : chosen) revisions.push_back(revision_value(revision, show));
  const Value value = Value::object({{"name", id.name},
                                     {"namespace", id.ns},
                                     {"applySet", release::apply_set_id(id)},
                                     {"head", release::to_value(state.anchor->head)},
                                     {"lock", lock_value(*state.anchor)},
                                     {"frozenClock", state.anchor->frozen_clock},
                                     {"revisions", Value(std::move(revisions))}});
  print_value(world, format == OutputFormat::Table ? OutputFormat::Yaml : format, value);
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kInspectPackageCommand{.path = "inspect package",
                                               .summary = "Show what a package is and which inputs it takes",
                                               .run = run_package,
                                               .arguments = kPackageArgument,
                                               .flags = kPackageGroups,
                                               .examples = kPackageExamples};
constinit const Command kInspectReleaseCommand{.path = "inspect release",
                                               .summary = "Show the record of a release",
                                               .run = run_release,
                                               .arguments = kReleaseArgument,
                                               .flags = kReleaseGroups,
                                               .examples = kReleaseExamples,
                                               .alias = "inspect install"};

}  // namespace mist::cli
