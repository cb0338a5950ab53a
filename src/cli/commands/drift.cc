#include "action/drift.h"

#include <algorithm>

#include "base/parallel.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/release_flags.h"
#include "encoding/json.h"

namespace mist::cli {
namespace {

using action::DriftKind;
using action::DriftReport;
using action::FieldDrift;
using action::ObjectDrift;
using encoding::Value;
using release::ReleaseId;

constexpr Argument kArguments[] = {{.name = "NAME",
                                    .help = "Name of the release; left out with --all",
                                    .arity = Arity::Optional,
                                    .completion = Completion::Release}};
constexpr Flag kFlags[] = {
    {.name = "fix", .help = "Apply what is recorded once more, over what others changed"},
    {.name = "all", .help = "Every release of the namespace"},
    {.name = "exit-code", .help = "Exit with 3 when something drifted and was not mended"},
    {.name = "strict", .help = "Fields that only others set, and what you may not read, count as drift too"},
    {.name = "adopt", .help = "With --fix, also over objects of the same name that belong to nobody"},
    {.name = "show-secrets", .help = "Print the data of Secrets instead of ***"},
};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kLockFlags, kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl drift web", "What is not as web's deployed revision recorded it, and who changed it"},
    {"mistctl drift --all -n shop --exit-code -o json", "For a job of CI: exit code 3 when anything drifted"},
    {"mistctl drift web --fix", "Put it back"},
};

// One release: what was found, or why it could not be looked at; and what mending it did.
struct Outcome {
  ReleaseId id;
  std::optional<DriftReport> report = {};
  std::optional<Error> failure = {};
  std::optional<int> fixed_by = {};  // revision
};

bool is_secret_data(const ObjectDrift& object, std::string_view path) {
  return object.key.group_kind == apimachinery::GroupKind{"", "Secret"} &&
         (apply::paths_touch(path, ".data") || apply::paths_touch(path, ".stringData"));
}

class Printer {
 public:
  Printer(const Invocation& invocation, World& world)
      : world_(world),
        show_secrets_(invocation.enabled("show-secrets")),
        strict_(invocation.enabled("strict")) {}

  Value value(const Outcome& outcome) const {
    Value::Array objects;
    if (outcome.report) {
      for (const ObjectDrift& object : outcome.report->found) objects.push_back(object_value(object));
    }
    const bool known = outcome.report.has_value();
    return Value::object({{"name", outcome.id.name},
                          {"namespace", outcome.id.ns},
                          {"revision", known ? Value(outcome.report->revision) : Value()},
                          {"drifted", known ? Value(outcome.report->drifted(strict_)) : Value()},
                          {"unfinished", known ? Value(outcome.report->unfinished) : Value()},
                          {"fixedBy", outcome.fixed_by ? Value(*outcome.fixed_by) : Value()},
                          {"error", outcome.failure ? Value(outcome.failure->to_line()) : Value()},
                          {"objects", Value(std::move(objects))}});
  }

  void print(const Outcome& outcome) {
    const std::string& name = outcome.id.name;
    if (!outcome.report) return;  // the error is told at the end
    const DriftReport& report = *outcome.report;
    for (const ObjectDrift& object : report.found) print(object);
    const std::size_t unknown = report.count(DriftKind::Unknown);
    const std::size_t drifted = report.found.size() - report.count(DriftKind::Foreign) - unknown;
    const std::size_t seen = report.objects - std::min(report.objects, unknown);
    if (drifted == 0)
      world_.out.write(fmt::format("{}: {} as v{} recorded {}\n", name,
                                   seen == 1 ? "1 object is" : fmt::format("{} objects are", seen),
                                   report.revision, seen == 1 ? "it" : "them"));
    else
      world_.out.write(fmt::format(
          "{}: {} of {} drifted from v{}{}\n", name, drifted, plural(report.objects, "object"),
          report.revision, outcome.fixed_by ? fmt::format(", mended by v{}", *outcome.fixed_by) : ""));
    if (unknown > 0)
      world_.out.write(fmt::format("{}: {} could not be looked at: you may not read {}\n", name,
                                   plural(unknown, "object"), unknown == 1 ? "it" : "them"));
    if (report.unfinished)
      world_.out.write(fmt::format("{}: a later revision did not end; see mistctl status {}\n", name, name));
  }

 private:
  // Short values in one line; others as JSON, cut off.
  std::string text(const ObjectDrift& object, std::string_view path, const Value& value) const {
    if (value.is_null()) return "nothing";
    if (!show_secrets_ && is_secret_data(object, path)) return "***";
    constexpr std::size_t kShown = 80;
    std::string json = encoding::to_json(value);
    if (json.size() > kShown) {
      std::size_t end = kShown;
      while (end > 0 && (static_cast<unsigned char>(json[end]) & 0xC0U) == 0x80U)
        --end;  // not inside a character
      json = json.substr(0, end) + "…";
    }
    return escape_controls(json);
  }

  std::string ago(const std::string& time) const {
    const auto then = parse_time(time);
    return then ? fmt::format(", {} ago", format_age(world_.clock.now() - *then)) : "";
  }

  void print(const ObjectDrift& object) {
    const Tone tone = object.kind == DriftKind::Foreign ? Tone::Faint : Tone::Warning;
    world_.out.write(fmt::format("{}  {}{}\n", escape_controls(object.key.display()),
                                 paint(world_.color_out, tone, action::to_string(object.kind)),
                                 object.fields.empty() && object.kind != DriftKind::Foreign
                                     ? ": " + escape_controls(object.reason)
                                     : ""));
    for (const FieldDrift& field : object.fields)
      world_.out.write(fmt::format(
          "  {}: {}, recorded is {}{}\n", escape_controls(field.path), text(object, field.path, field.live),
          text(object, field.path, field.recorded),
          field.managers.empty()
              ? ""
              : fmt::format(" (by {}{})", escape_controls(join(field.managers, ", ")), ago(field.time))));
    for (const apply::ForeignField& field : object.foreign)
      world_.out.write(fmt::format("  {}: {}, set by {}{}\n", escape_controls(field.path),
                                   text(object, field.path, field.live), escape_controls(field.manager),
                                   ago(field.time)));
  }

  Value masked(const ObjectDrift& object, std::string_view path, const Value& value) const {
    return value.is_null() || show_secrets_ || !is_secret_data(object, path) ? value : Value("***");
  }

  Value object_value(const ObjectDrift& object) const {
    Value::Array fields, foreign;
    for (const FieldDrift& field : object.fields) {
      Value::Array managers(field.managers.begin(), field.managers.end());
      fields.push_back(Value::object({{"path", field.path},
                                      {"recorded", masked(object, field.path, field.recorded)},
                                      {"live", masked(object, field.path, field.live)},
                                      {"managers", Value(std::move(managers))},
                                      {"time", text_or_null(field.time)}}));
    }
    for (const apply::ForeignField& field : object.foreign)
      foreign.push_back(Value::object({{"path", field.path},
                                       {"live", masked(object, field.path, field.live)},
                                       {"manager", field.manager},
                                       {"operation", field.operation},
                                       {"time", text_or_null(field.time)},
                                       {"recorded", field.wanted}}));
    return identity_value(object.key, {{"drift", action::to_string(object.kind)},
                                       {"reason", object.reason},
                                       {"file", text_or_null(object.file)},
                                       {"line", object.line > 0 ? Value(object.line) : Value()},
                                       {"fields", Value(std::move(fields))},
                                       {"foreign", Value(std::move(foreign))}});
  }

  World& world_;
  const bool show_secrets_;
  const bool strict_;
};

Result<std::vector<ReleaseId>> chosen(const Invocation& invocation, World& world, const Cluster& cluster) {
  const bool named = !invocation.argument("NAME").empty();
  if (named == invocation.enabled("all"))
    return error(ErrorKind::Usage, "{}", named ? "NAME and --all exclude one another" : "NAME is missing")
        .with_hint("name a release, or look at every one of the namespace with --all");
  if (named) {
    MIST_TRY(ReleaseId id, release_id(invocation, *cluster.client));
    return std::vector{std::move(id)};
  }
  release::Store store(*cluster.client);
  MIST_TRY(const std::vector<release::Anchor> anchors,
           store.list_anchors(cluster.client->default_namespace(), world.context));
  std::vector<ReleaseId> ids;
  for (const release::Anchor& anchor : anchors) {
    // What never was deployed, or is on its way out, has nothing to drift from.
    if (anchor.head.deployed >= 0 && anchor.head.status != release::RevisionStatus::Uninstalling)
      ids.push_back(anchor.id);
  }
  return ids;
}

// The first failure, with how many others there are.
std::optional<Error> failure_of(std::vector<Outcome>& outcomes) {
  std::optional<Error> first;
  std::size_t more = 0;
  for (Outcome& outcome : outcomes) {
    if (!outcome.failure) continue;
    if (first)
      ++more;
    else
      first = std::move(*outcome.failure).with_frame(fmt::format("in release {}", outcome.id.display()));
  }
  if (first && more > 0) first->frames.push_back(fmt::format("{} failed too", plural(more, "more release")));
  return first;
}

Result<ExitCode> run_drift(const Invocation& invocation, World& world) {
  if (invocation.enabled("adopt") && !invocation.enabled("fix"))
    return error(ErrorKind::Usage, "--adopt goes with --fix only");
  MIST_TRY(const Cluster cluster, open_cluster(invocation, world));
  MIST_TRY(const std::vector<ReleaseId> ids, chosen(invocation, world, cluster));
  std::vector<Outcome> outcomes;
  for (const ReleaseId& id : ids) outcomes.push_back({.id = id});
  (void)parallel_for(outcomes.size(), 8, [&](std::size_t i) -> Status {
    auto report = action::drift(cluster.environment, outcomes[i].id, world.context);
    if (report.ok())
      outcomes[i].report = *std::move(report);
    else
      outcomes[i].failure = std::move(report).error();
    return {};
  });
  const bool strict = invocation.enabled("strict");
  bool drifted = false;
  for (Outcome& outcome : outcomes) {
    if (!outcome.report || !outcome.report->drifted(strict)) continue;
    if (invocation.enabled("fix") && outcome.report->drifted(false)) {
      auto mended =
          action::mend_drift(cluster.environment, outcome.id, invocation.enabled("adopt"), world.context);
      if (mended.ok())
        outcome.fixed_by = mended->revision;
      else
        outcome.failure = std::move(mended).error();
    }
    // Others' fields stay where they are: they are not ours to take away.
    const std::size_t stay =
        outcome.report->count(DriftKind::Foreign) + outcome.report->count(DriftKind::Unknown);
    drifted = drifted || !outcome.fixed_by || (strict && stay > 0);
  }
  Printer printer(invocation, world);
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    Value::Array releases;
    for (const Outcome& outcome : outcomes) releases.push_back(printer.value(outcome));
    print_value(world, format, Value::object({{"releases", Value(std::move(releases))}}));
  } else {
    for (const Outcome& outcome : outcomes) printer.print(outcome);
    if (outcomes.empty())
      world.events->info(
          fmt::format("no deployed releases in namespace {}", cluster.client->default_namespace()));
  }
  if (auto failure = failure_of(outcomes)) return *std::move(failure);
  return drifted && invocation.enabled("exit-code") ? ExitCode::Differences : ExitCode::Ok;
}

}  // namespace

constinit const Command kDriftCommand{
    .path = "drift",
    .summary = "Show what others changed on a release's objects, or put it back",
    .run = run_drift,
    .arguments = kArguments,
    .flags = kGroups,
    .examples = kExamples};

}  // namespace mist::cli
