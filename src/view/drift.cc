#include "view/drift.h"

#include <algorithm>

#include "action/query/secret_data.h"
#include "base/text.h"
#include "encoding/json.h"
#include "release/command_text.h"
#include "view/style.h"
#include "view/values.h"

namespace mist::view {

using action::DriftKind;
using action::DriftReport;
using action::FieldDrift;
using action::ObjectDrift;
using encoding::Value;

namespace {

class DriftPrinter {
 public:
  DriftPrinter(WallTime now, const DriftOptions& options) : now_(now), options_(options) {}

  std::string take() { return std::move(text_); }

  Value value(const DriftOutcome& outcome) const {
    Value::Array objects;
    if (outcome.report) {
      hidden_ = &outcome.report->hidden;
      for (const ObjectDrift& object : outcome.report->found)
        objects.push_back(object_value(object, outcome));
    }
    const bool known = outcome.report.has_value();
    return Value::object({{"name", outcome.id.name},
                          {"namespace", outcome.id.ns},
                          {"revision", known ? Value(outcome.report->revision) : Value()},
                          {"drifted", known ? Value(outcome.report->drifted(options_.strict)) : Value()},
                          {"unfinished", known ? Value(outcome.report->unfinished) : Value()},
                          {"fixedBy", outcome.fixed_by ? Value(*outcome.fixed_by) : Value()},
                          {"error", outcome.failure ? Value(outcome.failure->to_line()) : Value()},
                          {"objects", Value(std::move(objects))}});
  }

  void print(const DriftOutcome& outcome) {
    const std::string name = options_.with_namespace ? outcome.id.display() : outcome.id.name;
    if (!outcome.report) return;  // the error is told at the end
    const DriftReport& report = *outcome.report;
    hidden_ = &report.hidden;
    for (const ObjectDrift& object : report.found) print(object, outcome);
    const std::size_t unknown = report.count(DriftKind::Unknown);
    const std::size_t drifted =
        report.found.size() - report.count(DriftKind::Foreign) - report.count(DriftKind::Finished) - unknown;
    const std::size_t seen = report.objects - std::min(report.objects, unknown);
    if (drifted == 0)
      text_ += fmt::format("{}: {} as v{} recorded {}\n", name,
                           seen == 1 ? "1 object is" : fmt::format("{} objects are", seen), report.revision,
                           seen == 1 ? "it" : "them");
    else
      text_ +=
          fmt::format("{}: {} of {} drifted from v{}{}\n", name, drifted, plural(report.objects, "object"),
                      report.revision, fixed_words(outcome, drifted) + foreign_words(outcome));
    if (unknown > 0)
      text_ += fmt::format("{}: {} could not be looked at{}\n", name, plural(unknown, "object"),
                           !all_forbidden(report) ? ""
                           : unknown == 1         ? ": you may not read it"
                                                  : ": you may not read them");
    if (report.unfinished)
      text_ += fmt::format("{}: a later revision did not end; see {}\n", name,
                           escape_controls(release::command_text("status", report.id)));
  }

 private:
  static bool all_forbidden(const DriftReport& report) {
    return std::ranges::all_of(report.found, [](const ObjectDrift& object) {
      return object.kind != DriftKind::Unknown || object.forbidden;
    });
  }

  // Of what is fixed: what isn't the release's to take away.
  static std::string foreign_words(const DriftOutcome& outcome) {
    std::size_t fields = 0;
    for (const ObjectDrift& object : outcome.report->found) fields += object.foreign.size();
    if (!outcome.fixing || fields == 0) return {};
    return fmt::format("; {} that only others set {}", plural(fields, "field"),
                       fields == 1 ? "stays" : "stay");
  }

  static std::string fixed_words(const DriftOutcome& outcome, std::size_t drifted) {
    const std::size_t left = outcome.left.size();
    const std::string fixed = outcome.fixed_by ? fmt::format("fixed by v{}", *outcome.fixed_by) : "";
    if (left == 0) return fixed.empty() ? "" : ", " + fixed;
    const std::string rest = fmt::format("{} left as {}", left, left == 1 ? "it is" : "they are");
    return fixed.empty() || left >= drifted ? ": " + rest
                                            : fmt::format(": {} {}, {}", drifted - left, fixed, rest);
  }

  // Short values in one line; others as JSON, cut off.
  std::string text(const ObjectDrift& object, std::string_view path, const Value& value) const {
    if (value.is_null()) return "nothing";
    if (!options_.show_secrets && action::holds_secret_data(object.key.group_kind, path)) return "***";
    if (hides(value)) return "***";
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
    return then ? fmt::format(", {} ago", format_age(now_ - *then)) : "";
  }

  void print(const ObjectDrift& object, const DriftOutcome& outcome) {
    if (object.kind == DriftKind::Finished) {
      text_ += fmt::format("{}  {}\n", escape_controls(object.key.display()),
                           paint(options_.color, Tone::Faint, escape_controls(object.reason)));
      return;
    }
    const Tone tone = object.kind == DriftKind::Foreign ? Tone::Faint : Tone::Warning;
    text_ += fmt::format("{}  {}{}\n", escape_controls(object.key.display()),
                         paint(options_.color, tone, action::to_string(object.kind)),
                         object.fields.empty() && object.kind != DriftKind::Foreign
                             ? ": " + escape_controls(object.reason)
                             : "");
    if (const auto left = outcome.left.find(object.key); left != outcome.left.end())
      text_ += fmt::format("  left as it is: {}\n", escape_controls(left->second));
    for (const FieldDrift& field : object.fields)
      text_ += fmt::format(
          "  {}: {}, recorded is {}{}\n", escape_controls(field.path), text(object, field.path, field.live),
          text(object, field.path, field.recorded),
          field.managers.empty()
              ? ""
              : fmt::format(" (by {}{})", escape_controls(join(field.managers, ", ")), ago(field.time)));
    for (const apply::ForeignField& field : object.foreign)
      text_ += fmt::format("  {}: {}, set by {}{}{}\n", escape_controls(field.path),
                           text(object, field.path, field.live), escape_controls(field.manager),
                           ago(field.time), outcome.fixing ? "; not recorded, so it stays" : "");
  }

  // A part of an object that holds one is hidden as a whole.
  bool hides(const Value& value) const {
    if (options_.show_secrets || hidden_ == nullptr || hidden_->empty()) return false;
    Value whole = Value::object({{"value", value}});
    hidden_->mask(whole);
    return *whole.find("value") != value;
  }

  Value masked(const ObjectDrift& object, std::string_view path, const Value& value) const {
    if (value.is_null() || options_.show_secrets) return value;
    const bool hidden = action::holds_secret_data(object.key.group_kind, path) || hides(value);
    return hidden ? Value(render::HiddenValues::kMask) : value;
  }

  Value object_value(const ObjectDrift& object, const DriftOutcome& outcome) const {
    const auto left = outcome.left.find(object.key);
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
                                       {"left", left == outcome.left.end() ? Value() : Value(left->second)},
                                       {"fields", Value(std::move(fields))},
                                       {"foreign", Value(std::move(foreign))}});
  }

  const WallTime now_;
  const DriftOptions& options_;
  mutable const render::HiddenValues* hidden_ = nullptr;  // of the release that is printed
  std::string text_;
};

}  // namespace

Value drift_value(const std::vector<DriftOutcome>& outcomes, const DriftOptions& options) {
  const DriftPrinter printer({}, options);
  Value::Array releases;
  for (const DriftOutcome& outcome : outcomes) releases.push_back(printer.value(outcome));
  return Value::object({{"releases", Value(std::move(releases))}});
}

std::string drift_text(const DriftOutcome& outcome, WallTime now, const DriftOptions& options) {
  DriftPrinter printer(now, options);
  printer.print(outcome);
  return printer.take();
}

}  // namespace mist::view
