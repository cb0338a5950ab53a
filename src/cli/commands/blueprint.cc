// mistctl blueprint check, graph.

#include <algorithm>

#include "action/authoring/blueprint_cases.h"
#include "base/text.h"
#include "blueprint/check.h"
#include "cli/blueprint_flags.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/package_flags.h"
#include "cli/parse/flags.h"
#include "view/blueprint_drawing.h"

namespace mist::cli {
namespace {

using action::BlueprintSource;
using blueprint::Finding;
using encoding::Value;

constexpr Argument kCheckArguments[] = {{.name = "SOURCE",
                                         .help = "A blueprint's directory, its blueprint.ncl, a directory of "
                                                 "blueprints, or a manifest with ConfigMaps",
                                         .completion = Completion::File}};
constexpr Flag kCheckFlags[] = {{.name = "strict", .help = "Fail for warnings too"}};
constexpr FlagGroup kCheckGroups[] = {{"Flags", kCheckFlags}, kOutputFlags, kSandboxFlags};
constexpr Example kCheckExamples[] = {
    {"mistctl blueprint check ./app", "What is wrong or unwise about it?"},
    {"mistctl blueprint check app.yaml --strict", "As it stands in a ConfigMap; warnings fail too"},
};

constexpr Argument kGraphArguments[] = {kBlueprintSource};
constexpr std::string_view kFormats[] = {"text", "dot", "mermaid", "json"};
constexpr Flag kGraphFlags[] = {{.name = "output",
                                 .letter = 'o',
                                 .type = FlagType::Choice,
                                 .value = "FORMAT",
                                 .help = "How to draw it: dot is for Graphviz",
                                 .fallback = "text",
                                 .choices = kFormats}};
constexpr FlagGroup kGraphGroups[] = {{"Flags", kGraphFlags}, kSandboxFlags};
constexpr Example kGraphExamples[] = {
    {"mistctl blueprint graph ./app", "Why each node is wanted, and which node comes before which"},
    {"mistctl blueprint graph ./app -o dot | dot -Tsvg > app.svg", "As a picture"},
};

struct CheckedSource {
  BlueprintSource source;
  std::vector<Finding> findings;
  std::optional<blueprint::Blueprint> blueprint;
  blueprint::RoundTrips conversions;
};

std::size_t count(const std::vector<CheckedSource>& all, bool errors) {
  std::size_t found = 0;
  for (const CheckedSource& each : all)
    found += static_cast<std::size_t>(std::ranges::count(each.findings, errors, &Finding::error));
  return found;
}

// "app/blueprint.ncl:3:5: error: … [rule]", as compilers print it; below it Nickel's own diagnostic.
void print_finding(Machine& machine, const BlueprintSource& source, const Finding& each) {
  const bool color = machine.color_out;
  SourceLocation place = each.where.value_or(SourceLocation{std::string(blueprint::kEntry), 0, 0, {}});
  if (source.files.contains(place.file)) place.file = source.shown(place.file);
  std::string text =
      fmt::format("{} {} {} {}\n", paint(color, Tone::Strong, escape_controls(place.text()) + ":"),
                  each.error ? paint(color, Tone::Bad, "error:") : paint(color, Tone::Warning, "warning:"),
                  escape_controls(each.message), paint(color, Tone::Faint, fmt::format("[{}]", each.rule)));
  const auto indented = [&](std::string_view lines) {
    for (const std::string_view line : split(lines, '\n')) text += "    " + escape_controls(line) + "\n";
  };
  if (!each.because.empty()) {
    while (text.ends_with('\n') && text.ends_with("\n\n")) text.pop_back();
    std::string_view words = each.because;
    while (words.ends_with('\n')) words.remove_suffix(1);
    indented(words);
  } else if (!place.excerpt.empty()) {
    indented(place.excerpt);
  }
  if (!each.hint.empty())
    text += fmt::format("    {} {}\n", paint(color, Tone::Faint, "try:"), escape_controls(each.hint));
  machine.out.write(text);
}

// How far the CRD and the contracts that it is made of ask the same.
void print_crd(Machine& machine, const CheckedSource& checked) {
  if (!checked.blueprint || !checked.blueprint->resource()) return;
  const blueprint::CustomResource& resource = *checked.blueprint->resource();
  const std::string name = resource.crd_name(checked.blueprint->instances().group);
  const std::string place = escape_controls(checked.source.shown(blueprint::kEntry)) + ":";
  const auto say = [&](std::string_view words, const std::vector<blueprint::SchemaNote>& notes) {
    if (notes.empty()) return;
    std::string text =
        fmt::format("{} note: {} {}\n", paint(machine.color_out, Tone::Strong, place), name, words);
    for (const blueprint::SchemaNote& each : notes)
      text += fmt::format("    {} ({}): {}\n", escape_controls(each.path), escape_controls(each.version),
                          escape_controls(each.what));
    machine.out.write(text);
  };
  say("can't ask these contracts; the operator checks them", resource.unsaid);
  say("asks this too, which the contract does not", resource.beyond);
}

// Which fields and objects the round trips between versions were not tried with, and why.
void print_untried(Machine& machine, const CheckedSource& checked) {
  if (checked.conversions.untried.empty()) return;
  std::string text = fmt::format(
      "{} note: conversions between versions weren't tried with these\n",
      paint(machine.color_out, Tone::Strong, escape_controls(checked.source.shown(blueprint::kEntry)) + ":"));
  for (const blueprint::SchemaNote& each : checked.conversions.untried)
    text += fmt::format("    {} ({}): {}\n", escape_controls(each.path), escape_controls(each.version),
                        escape_controls(each.what));
  machine.out.write(text);
}

Value notes_value(const std::vector<blueprint::SchemaNote>& notes) {
  Value::Array all;
  for (const blueprint::SchemaNote& each : notes)
    all.push_back(Value::object({{"version", each.version}, {"path", each.path}, {"what", each.what}}));
  return Value(std::move(all));
}

Value crd_value(const std::optional<blueprint::Blueprint>& blueprint) {
  if (!blueprint || !blueprint->resource()) return {};
  const blueprint::CustomResource& resource = *blueprint->resource();
  return Value::object({{"manifest", blueprint::crd_of(blueprint->instances(), resource)},
                        {"operatorOnly", notes_value(resource.unsaid)},
                        {"crdOnly", notes_value(resource.beyond)}});
}

Value round_trip_value(const blueprint::RoundTrip& trip) {
  Value::Array objects(trip.objects.begin(), trip.objects.end()), changes;
  for (const blueprint::FieldChange& each : trip.changes)
    changes.push_back(Value::object({{"path", each.path},
                                     {"before", each.before.value_or(Value())},
                                     {"after", each.after.value_or(Value())},
                                     {"object", each.object}}));
  return Value::object({{"version", trip.version},
                        {"over", trip.over},
                        {"objects", Value(std::move(objects))},
                        {"changes", Value(std::move(changes))}});
}

Value conversions_value(const blueprint::RoundTrips& conversions) {
  Value::Array trips, failures;
  for (const blueprint::RoundTrip& each : conversions.trips) trips.push_back(round_trip_value(each));
  for (const blueprint::ConversionFailure& each : conversions.failures)
    failures.push_back(Value::object({{"from", each.from},
                                      {"to", each.to},
                                      {"object", each.object},
                                      {"parts", each.parts},
                                      {"message", each.error.message}}));
  return Value::object({{"roundTrips", Value(std::move(trips))},
                        {"failures", Value(std::move(failures))},
                        {"untried", notes_value(conversions.untried)}});
}

Value finding_value(const BlueprintSource& source, const Finding& each) {
  std::string file = each.where ? each.where->file : std::string(blueprint::kEntry);
  if (source.files.contains(file)) file = source.shown(file);
  const auto number = [&](std::uint32_t value) { return each.where && value > 0 ? Value(value) : Value(); };
  return Value::object({{"level", each.error ? "error" : "warning"},
                        {"rule", each.rule},
                        {"file", file},
                        {"line", number(each.where ? each.where->line : 0)},
                        {"column", number(each.where ? each.where->column : 0)},
                        {"message", each.message},
                        {"because", text_or_null(each.because)},
                        {"hint", text_or_null(each.hint)}});
}

/// schemas/cli/blueprint-check.schema.json.
Value to_value(const std::vector<CheckedSource>& all) {
  Value::Array blueprints;
  for (const CheckedSource& each : all) {
    Value::Array findings;
    for (const Finding& one : each.findings) findings.push_back(finding_value(each.source, one));
    blueprints.push_back(Value::object({{"name", each.source.name},
                                        {"path", each.source.path.string()},
                                        {"findings", Value(std::move(findings))},
                                        {"crd", crd_value(each.blueprint)},
                                        {"conversions", conversions_value(each.conversions)}}));
  }
  return Value::object({{"blueprints", Value(std::move(blueprints))},
                        {"errors", count(all, true)},
                        {"warnings", count(all, false)}});
}

Result<ExitCode> run_check(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const std::vector<BlueprintSource> sources,
           action::read_blueprints(machine.files, invocation.argument("SOURCE")));
  MIST_TRY(const auto renderer, open_renderer(invocation, machine));
  std::vector<CheckedSource> all;
  for (const BlueprintSource& source : sources) {
    MIST_TRY(const std::vector<blueprint::Example> examples, action::read_examples(machine.files, source));
    MIST_TRY(blueprint::Checked checked,
             blueprint::check(source.name, source.files, examples, *renderer, machine.context));
    all.push_back(
        {source, std::move(checked.findings), std::move(checked.blueprint), std::move(checked.conversions)});
  }
  const std::size_t errors = count(all, true), warnings = count(all, false);
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    print_value(machine, format, to_value(all));
  } else {
    for (const CheckedSource& each : all) {
      for (const Finding& one : each.findings) print_finding(machine, each.source, one);
      print_crd(machine, each);
      print_untried(machine, each);
    }
    machine.out.write(fmt::format("{}: {}, {}\n", plural(all.size(), "blueprint"), plural(errors, "error"),
                                  plural(warnings, "warning")));
  }
  const bool failed = errors > 0 || (invocation.enabled("strict") && warnings > 0);
  return failed ? ExitCode::Failed : ExitCode::Ok;
}

Result<ExitCode> run_graph(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const BlueprintSource source, blueprint_source(invocation, machine));
  MIST_TRY(const auto renderer, open_renderer(invocation, machine));
  MIST_TRY(blueprint::Evaluator evaluator, blueprint::Evaluator::of(source.name, source.files, *renderer));
  auto described = evaluator.describe(machine.context);
  if (!described.ok()) return action::shown_error(source, std::move(described).error());
  const std::string format = invocation.text("output");
  if (format == "json")
    print_value(machine, OutputFormat::Json, view::blueprint_value(source.name, *described));
  else if (format == "dot")
    machine.out.write(view::blueprint_dot(source.name, *described));
  else if (format == "mermaid")
    machine.out.write(view::blueprint_mermaid(*described));
  else
    machine.out.write(view::blueprint_text(source.name, *described, machine.color_out));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kBlueprintCheckCommand{.path = "blueprint check",
                                               .summary = "Say what is wrong or unwise about a blueprint",
                                               .run = run_check,
                                               .arguments = kCheckArguments,
                                               .flags = kCheckGroups,
                                               .examples = kCheckExamples,
                                               .cluster = ClusterUse::None};
constinit const Command kBlueprintGraphCommand{
    .path = "blueprint graph",
    .summary = "Draw which nodes belong together, and which come before which",
    .run = run_graph,
    .arguments = kGraphArguments,
    .flags = kGraphGroups,
    .examples = kGraphExamples,
    .cluster = ClusterUse::None};

}  // namespace mist::cli
