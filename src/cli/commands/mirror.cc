#include "action/authoring/mirror.h"

#include "base/short_digest.h"
#include "base/text.h"
#include "cli/chart_sources.h"
#include "cli/commands.h"
#include "cli/output/copy_report.h"
#include "cli/output/output.h"
#include "cli/package_flags.h"
#include "cli/parse/flags.h"
#include "cli/registry_access.h"

namespace mist::cli {
namespace {

using encoding::Value;

constexpr Argument kMirrorArguments[] = {
    {.name = "PACKAGE",
     .help = "oci://HOST/PATH:VERSION, a range, a package of a registry, git+https://…, or sources on this "
             "machine, "
             "of which the dependencies are mirrored",
     .arity = Arity::OneOrMore,
     .completion = Completion::Package},
};
constexpr Flag kMirrorFlags[] = {
    {.name = "to",
     .type = FlagType::Text,
     .value = "PLACE",
     .help = "Where the copies go: oci://HOST/PATH, oci-layout:DIR or oci-archive:FILE",
     .completion = Completion::CopiesPlace,
     .required = true},
    {.name = "dry-run", .help = "Say what would be copied, and copy nothing"},
    {.name = "allow-missing",
     .help = "Mirror the rest when something that a package needs is on this machine alone"},
    {.name = "overwrite", .help = "Replace versions that are there with other content"},
    {.name = "referrers",
     .help = "Copy what refers to each package too: signatures, SBOMs, provenance; --referrers=false doesn't",
     .fallback = "true",
     .rare = true},
    kPlainHttpFlag,
};
constexpr FlagGroup kMirrorGroups[] = {{"Flags", kMirrorFlags}, kOutputFlags};
constexpr Example kMirrorExamples[] = {
    {"mistctl mirror oci://registry.example/team/shop:1.4.0 --to oci-archive:shop.tar",
     "For a machine without a network: one file with the package, what it calls, and all signatures"},
    {"mistctl mirror 'oci://registry.example/team/shop:^1.4' --to oci://mirror.example/copies",
     "Into another registry"},
    {"mistctl mirror charts/postgresql:15.2.0 'git+https://git.example/team/web.git?ref=v1' --to "
     "oci-layout:/media/mirror",
     "A chart of a chart repository, and a package in git"},
    {"mistctl mirror ./platform --to oci-layout:/media/mirror --dry-run",
     "Which of its dependencies are missing there"},
};

Value mirrors_value(const std::vector<config::Mirror>& mirrors) {
  Value::Array list;
  for (const config::Mirror& each : mirrors)
    list.push_back(Value::object(
        {{"prefix", each.prefix}, {"places", Value(Value::Array(each.places.begin(), each.places.end()))}}));
  return Value(std::move(list));
}

Value left_out_value(const std::vector<action::NotMirrored>& left_out) {
  Value::Array list;
  for (const action::NotMirrored& each : left_out)
    list.push_back(
        Value::object({{"name", each.name}, {"askedBy", each.asked_by}, {"because", each.because}}));
  return Value(std::move(list));
}

Value without_index_value(const std::map<std::string, std::string>& without_index) {
  Value::Array list;
  for (const auto& [place, because] : without_index)
    list.push_back(Value::object({{"place", place}, {"because", because}}));
  return Value(std::move(list));
}

std::string words_of(const registry::CopyReport& report, bool dry_run) {
  const bool nothing_sent = report.blobs == 0 && report.mounted == 0 && report.referrers == 0;
  if (report.was_there && nothing_sent) return "was there";
  std::vector<std::string> words;
  if (report.was_there) words.emplace_back("was there");
  if (report.blobs > 0)
    words.push_back(fmt::format("{}, {} bytes", plural(report.blobs, "blob"), report.bytes));
  if (report.mounted > 0) words.push_back(fmt::format("{} mounted", plural(report.mounted, "blob")));
  if (report.referrers > 0) words.push_back(plural(report.referrers, "referrer"));
  if (words.empty()) words.emplace_back("its name only");
  return fmt::format("{}{}", join(words, ", "), dry_run ? ", to be copied" : "");
}

Status check_left_out(const std::vector<action::NotMirrored>& left_out, const Invocation& invocation,
                      Machine& machine) {
  if (left_out.empty()) return {};
  std::vector<std::string> lines;
  for (const action::NotMirrored& each : left_out)
    lines.push_back(escape_controls(fmt::format("{} needs {}: {}", each.asked_by, each.name, each.because)));
  if (!invocation.enabled("allow-missing"))
    return error(ErrorKind::Invalid, "not everything that is needed can be mirrored")
        .with_because(join(lines, "\n"))
        .with_hint("nothing was copied; --allow-missing copies the rest");
  for (const std::string& each : lines) machine.events->warn(fmt::format("left out: {}", each));
  return {};
}

// A copy of what is in no OCI registry by its own address.
std::string shown_name(const registry::CopyReport& report, const action::MirrorArtifact& artifact) {
  if (!artifact.original.empty())
    return escape_controls(fmt::format("{}:{}", artifact.original, report.from.tag));
  oci::Reference named = report.from;
  if (!named.tag.empty()) named.digest.reset();
  return named.str();
}

void print_report(const action::MirrorReport& report, const action::MirrorSources& sources, bool dry_run,
                  Machine& machine) {
  Table table({"PACKAGE", "DIGEST", "COPIED"});
  for (std::size_t i = 0; i < report.artifacts.size(); ++i) {
    const registry::CopyReport& each = report.artifacts[i];
    table.add({{shown_name(each, sources.artifacts[i])},
               {short_digest(each.to.digest->str())},
               {words_of(each, dry_run)}});
  }
  if (!table.empty()) machine.out.write(table.render(machine.color_out));
  if (report.artifacts.empty()) machine.events->info("there is nothing to mirror");
  for (const auto& [place, because] : sources.without_index)
    machine.events->info(fmt::format("mistctl search finds nothing of {} in the mirror: {}", place, because));
  if (report.artifacts.empty() || dry_run) return;
  for (const config::Mirror& each : report.mirrors)
    machine.events->info(fmt::format("to read {} from there: mistctl registry mirror add {} {}", each.prefix,
                                     each.prefix, shell_word(each.places.front())));
}

Result<ExitCode> run_mirror(const Invocation& invocation, Machine& machine) {
  MIST_TRY(registry::OciPlace to, registry::OciPlace::parse(invocation.text("to")));
  const bool dry_run = invocation.enabled("dry-run");
  const registry::CopyOptions options{
      .overwrite = invocation.enabled("overwrite") ? registry::Overwrite::Yes : registry::Overwrite::No,
      .referrers = invocation.enabled("referrers") ? registry::Referrers::Yes : registry::Referrers::No,
      .dry_run = dry_run};
  MIST_TRY(registry::Registries::Dependencies access,
           registry_dependencies(invocation, machine, registry::Mirrors::Ignore));
  registry::Registries registries(std::move(access));
  MIST_TRY(const auto packages, open_packages(invocation, machine, registry::Mirrors::Ignore));
  MIST_TRY(registry::SubchartSource::Dependencies charts, chart_sources(invocation, machine, registries));
  const action::MirrorDependencies mirror{machine.files, *machine.events, registries, *packages,
                                          std::move(charts)};
  MIST_TRY(const action::MirrorSources sources,
           action::find_mirror_sources(mirror, invocation.arguments("PACKAGE"), machine.context));
  MIST_TRY_VOID(check_left_out(sources.left_out, invocation, machine));
  MIST_TRY(const action::MirrorReport report,
           action::mirror_artifacts(mirror, sources.artifacts, to, options, machine.context));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    Value::Array artifacts;
    for (std::size_t i = 0; i < report.artifacts.size(); ++i) {
      const std::string& original = sources.artifacts[i].original;
      Value artifact = copy_report_value(report.artifacts[i]);
      artifact.set("original", original.empty() ? Value() : Value(original));
      artifacts.push_back(std::move(artifact));
    }
    print_value(machine, format,
                Value::object({{"place", to.str()},
                               {"dryRun", dry_run},
                               {"artifacts", Value(std::move(artifacts))},
                               {"leftOut", left_out_value(sources.left_out)},
                               {"withoutIndex", without_index_value(sources.without_index)},
                               {"mirrors", mirrors_value(report.mirrors)}}));
    return ExitCode::Ok;
  }
  print_report(report, sources, dry_run, machine);
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kMirrorCommand{
    .path = "mirror",
    .summary = "Copy packages with everything that they depend on to another registry, a directory or a file",
    .run = run_mirror,
    .arguments = kMirrorArguments,
    .flags = kMirrorGroups,
    .examples = kMirrorExamples,
    .cluster = ClusterUse::None};

}  // namespace mist::cli
