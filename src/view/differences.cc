#include "view/differences.h"

#include <algorithm>

#include "base/text.h"
#include "view/deployments.h"
#include "view/values.h"

namespace mist::view {

using action::ObjectDiff;
using apply::ActionKind;
using encoding::Value;

namespace {

Tone tone_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::Create:
      return Tone::Good;
    case ActionKind::Update:
    case ActionKind::Adopt:
      return Tone::Warning;
    case ActionKind::Replace:
    case ActionKind::Conflict:
    case ActionKind::Delete:
      return Tone::Bad;
    case ActionKind::Unchanged:
    case ActionKind::Retain:
      return Tone::Faint;
  }
  return Tone::Plain;
}

std::string safe(std::string_view text) { return escape_controls(text); }

std::string place(const ObjectDiff& object) {
  return object.file.empty() ? std::string() : place_text(object.file, object.line, 0, object.package);
}

std::string_view change_word(LineChange change) {
  switch (change) {
    case LineChange::Added:
      return "added";
    case LineChange::Removed:
      return "removed";
    case LineChange::Same:
      return "changed";
  }
  return "changed";
}

action::DiffOptions hiding(const action::PreparedDeploy& prepared, action::DiffOptions options) {
  options.hidden = &prepared.hidden;
  return options;
}

std::vector<action::RecordedDiff> test_diffs(const action::PreparedDeploy& prepared,
                                             const action::DiffOptions& options) {
  static const std::vector<release::RenderedObject> kNone;
  return action::diff_of_recorded(prepared.state.deployed ? prepared.state.deployed->tests : kNone,
                                  prepared.tests, hiding(prepared, options));
}

class DiffPrinter {
 public:
  explicit DiffPrinter(bool color) : color_(color) {}

  std::string take() { return std::move(text_); }

  void test(const action::RecordedDiff& test) {
    separate();
    recorded(test, fmt::format("test {}", change_word(test.change)), "recorded", "wanted",
             ": only mistctl test applies it");
  }

  // Of two revisions; `what`: "hook ", "test " or nothing.
  void recorded(const action::RecordedDiff& object, std::string_view what, const action::RevisionDiff& of) {
    separate();
    recorded(object, fmt::format("{}{}", what, change_word(object.change)), fmt::format("v{}", of.from),
             fmt::format("v{}", of.to), "");
  }

  void published(const action::RecordedDiff& object) {
    separate();
    recorded(object, std::string(change_word(object.change)), "published", "rendered", "");
  }

  void object(const ObjectDiff& object) {
    separate();
    const apply::PlannedAction& action = *object.action;
    const std::string where = place(object);
    line(tone_of(action.kind), fmt::format("{} {}{}: {}", apply::to_string(action.kind), action.key.display(),
                                           where.empty() ? "" : fmt::format(" ({})", where), action.reason));
    if (!action.refusal.hint.empty()) line(Tone::Plain, "  try: " + action.refusal.hint);
    for (const apply::FieldDifference& field : object.fields) {
      if (!field.managers.empty())
        line(Tone::Warning, fmt::format("  {} is {}owned by {}", field.path, field.removal() ? "also " : "",
                                        join(field.managers, ", ")));
    }
    if (object.hunks.empty()) return;
    line(Tone::Strong,
         "--- " + (action.kind == ActionKind::Create ? "/dev/null" : "live/" + action.key.display()));
    line(Tone::Strong,
         "+++ " + (action.kind == ActionKind::Delete ? "/dev/null" : "wanted/" + action.key.display()));
    for (const action::Hunk& hunk : object.hunks) this->hunk(hunk, object.file);
  }

  // An empty line behind what is there already.
  void separate() {
    if (!text_.empty()) text_ += "\n";
  }

 private:
  void recorded(const action::RecordedDiff& object, const std::string& what, std::string_view before,
                std::string_view after, std::string_view note) {
    const std::string name = object.key.display();
    const std::string where =
        object.file.empty() ? "" : fmt::format(" ({})", place_text(object.file, object.line));
    line(Tone::Warning, fmt::format("{} {}{}{}", what, name, where, note));
    line(Tone::Strong,
         "--- " + (object.change == LineChange::Added ? "/dev/null" : fmt::format("{}/{}", before, name)));
    line(Tone::Strong,
         "+++ " + (object.change == LineChange::Removed ? "/dev/null" : fmt::format("{}/{}", after, name)));
    for (const action::Hunk& hunk : object.hunks) this->hunk(hunk, object.file);
  }

  void hunk(const action::Hunk& hunk, const std::string& file) {
    std::size_t before = 0, after = 0;
    for (const action::DiffLine& each : hunk.lines) {
      before += each.change != LineChange::Added;
      after += each.change != LineChange::Removed;
    }
    line(Tone::Name, hunk_header(hunk.before - 1, before, hunk.after - 1, after));
    std::uint32_t last = 0;
    for (const action::DiffLine& each : hunk.lines) {
      switch (each.change) {
        case LineChange::Same:
          line(Tone::Plain, " " + each.text);
          break;
        case LineChange::Removed:
          line(Tone::Bad, "-" + each.text);
          break;
        case LineChange::Added: {
          // Where the value was written, once for those of one line.
          const bool told = each.source == 0 || each.source == last;
          last = each.source;
          added(each.text, told ? "" : "  # " + place_text(file, each.source));
          break;
        }
      }
    }
  }

  void line(Tone tone, const std::string& text) { text_ += paint(color_, tone, safe(text)) + "\n"; }
  void added(const std::string& text, const std::string& source) {
    text_ += paint(color_, Tone::Good, "+" + safe(text)) + paint(color_, Tone::Faint, safe(source)) + "\n";
  }

  const bool color_;
  std::string text_;
};

Value field_value(const apply::FieldDifference& field) {
  Value::Array managers;
  for (const std::string& manager : field.managers) managers.emplace_back(manager);
  return Value::object({{"path", field.path},
                        {"before", field.before},
                        {"after", field.after},
                        {"line", field.line == 0 ? Value() : Value(field.line)},
                        {"managers", Value(std::move(managers))}});
}

std::string lookups_text(const action::PreparedDeploy& prepared) {
  std::string text;
  const auto add = [&](std::string_view flag, const std::vector<std::string>& patterns) {
    if (!patterns.empty())
      text += fmt::format("the package may look up {} (--{})\n", escape_controls(join(patterns, ", ")), flag);
  };
  add("allow-lookup", prepared.rendered.lookups.objects);
  add("allow-lookup-secrets", prepared.rendered.lookups.secrets);
  return text;
}

std::vector<action::PackageChange> changes_of(const action::PreparedDeploy& prepared) {
  if (!prepared.state.deployed) return {};
  return action::package_changes(prepared.state.deployed->package, prepared.rendered.package);
}

}  // namespace

std::string diff_text(const action::PreparedDeploy& prepared, const action::DiffOptions& options,
                      bool color) {
  DiffPrinter printer(color);
  for (const ObjectDiff& object : action::diff_of(prepared.plan, prepared.live, hiding(prepared, options)))
    printer.object(object);
  for (const action::RecordedDiff& test : test_diffs(prepared, options)) printer.test(test);
  printer.separate();
  return fmt::format("{}{}{}{}: {}\n", printer.take(), packages_text(changes_of(prepared)),
                     lookups_text(prepared), prepared.state.id.name, change_counts(prepared));
}

namespace {

// "1 added, 2 changed, 1 removed", each if there are any.
std::vector<std::string> change_counts(const std::vector<action::RecordedDiff>& objects) {
  std::vector<std::string> counts;
  for (const LineChange change : {LineChange::Added, LineChange::Same, LineChange::Removed}) {
    if (const auto count = std::ranges::count(objects, change, &action::RecordedDiff::change); count > 0)
      counts.push_back(fmt::format("{} {}", count, change_word(change)));
  }
  return counts;
}

Value recorded_value(const std::vector<action::RecordedDiff>& all) {
  Value::Array values;
  for (const action::RecordedDiff& each : all) {
    Value::Array lines;
    for (const action::Hunk& hunk : each.hunks)
      for (const action::DiffLine& line : hunk.lines)
        lines.emplace_back(fmt::format("{}{}",
                                       line.change == LineChange::Added     ? "+"
                                       : line.change == LineChange::Removed ? "-"
                                                                            : " ",
                                       line.text));
    values.push_back(identity_value(each.key, {{"change", change_word(each.change)},
                                               {"file", text_or_null(each.file)},
                                               {"line", each.file.empty() ? Value() : Value(each.line)},
                                               {"diff", Value(std::move(lines))}}));
  }
  return Value(std::move(values));
}

}  // namespace

std::string diff_text(const action::RevisionDiff& diff, bool color) {
  DiffPrinter printer(color);
  for (const action::RecordedDiff& each : diff.objects) printer.recorded(each, "", diff);
  for (const action::RecordedDiff& each : diff.hooks) printer.recorded(each, "hook ", diff);
  for (const action::RecordedDiff& each : diff.tests) printer.recorded(each, "test ", diff);
  printer.separate();
  std::vector<std::string> counts = change_counts(diff.objects);
  if (!diff.hooks.empty()) counts.push_back(plural(diff.hooks.size(), "hook"));
  if (!diff.tests.empty()) counts.push_back(plural(diff.tests.size(), "test"));
  if (counts.empty()) counts.emplace_back("no differences");
  if (diff.unchanged > 0) counts.push_back(fmt::format("{} unchanged", diff.unchanged));
  return fmt::format("{}{}{} from v{} to v{}: {}\n", printer.take(), packages_text(diff.packages),
                     diff.id.name, diff.from, diff.to, join(counts, ", "));
}

std::string diff_text(const action::PublishedDiff& diff, bool color) {
  DiffPrinter printer(color);
  for (const action::RecordedDiff& each : diff.objects) printer.published(each);
  printer.separate();
  std::vector<std::string> counts = change_counts(diff.objects);
  if (counts.empty()) counts.emplace_back("no differences");
  if (diff.unchanged > 0) counts.push_back(fmt::format("{} unchanged", diff.unchanged));
  return fmt::format("{}{} against {}: {}\n", printer.take(), diff.id.name, diff.published.str(),
                     join(counts, ", "));
}

Value diff_value(const action::PublishedDiff& diff) {
  return Value::object({{"release", diff.id.name},
                        {"namespace", diff.id.ns},
                        {"against", diff.published.str()},
                        {"digest", diff.published.digest->str()},
                        {"changes", diff.changes()},
                        {"unchanged", diff.unchanged},
                        {"objects", recorded_value(diff.objects)}});
}

Value diff_value(const action::RevisionDiff& diff) {
  return Value::object({{"release", diff.id.name},
                        {"namespace", diff.id.ns},
                        {"from", diff.from},
                        {"to", diff.to},
                        {"changes", diff.changes()},
                        {"unchanged", diff.unchanged},
                        {"packages", packages_value(diff.packages)},
                        {"objects", recorded_value(diff.objects)},
                        {"hooks", recorded_value(diff.hooks)},
                        {"tests", recorded_value(diff.tests)}});
}

Value diff_value(const action::PreparedDeploy& prepared, const action::DiffOptions& options) {
  Value::Array objects;
  for (const ObjectDiff& object : action::diff_of(prepared.plan, prepared.live, hiding(prepared, options))) {
    const apply::PlannedAction& action = *object.action;
    Value::Array fields;
    for (const apply::FieldDifference& field : object.fields) fields.push_back(field_value(field));
    objects.push_back(
        identity_value(action.key, {{"action", apply::to_string(action.kind)},
                                    {"reason", action.reason},
                                    {"owner", text_or_null(action.owner)},
                                    {"hint", text_or_null(action.refusal.hint)},
                                    {"file", text_or_null(object.file)},
                                    {"line", object.file.empty() ? Value() : Value(object.line)},
                                    {"package", text_or_null(object.package)},
                                    {"fields", Value(std::move(fields))}}));
  }
  Value::Array tests;
  for (const action::RecordedDiff& test : test_diffs(prepared, options))
    tests.push_back(identity_value(test.key, {{"change", change_word(test.change)},
                                              {"file", text_or_null(test.file)},
                                              {"line", test.file.empty() ? Value() : Value(test.line)}}));
  return Value::object({{"release", prepared.state.id.name},
                        {"namespace", prepared.state.id.ns},
                        {"revision", prepared.plan.revision},
                        {"changes", changes_something(prepared)},
                        {"allowLookup", texts_value(prepared.rendered.lookups.objects)},
                        {"allowLookupSecrets", texts_value(prepared.rendered.lookups.secrets)},
                        {"unchanged", prepared.plan.count(ActionKind::Unchanged)},
                        {"packages", packages_value(changes_of(prepared))},
                        {"objects", Value(std::move(objects))},
                        {"tests", Value(std::move(tests))}});
}

bool changes_something(const action::PreparedDeploy& prepared) {
  return !prepared.plan.changes_nothing() || prepared.tests_differ();
}

std::string change_counts(const action::PreparedDeploy& prepared) {
  const std::size_t tests = test_diffs(prepared, {}).size();
  if (tests == 0 && prepared.tests_differ())
    return fmt::format("{}, the tests come in another order", prepared.plan.changes_nothing()
                                                                  ? "no objects change"
                                                                  : plan_counts(prepared.plan, true));
  if (tests == 0) return changes_something(prepared) ? plan_counts(prepared.plan, true) : "no differences";
  return fmt::format("{}, {} differ{}",
                     prepared.plan.changes_nothing() ? "no objects change" : plan_counts(prepared.plan, true),
                     plural(tests, "test"), tests == 1 ? "s" : "");
}

std::string plan_text(const action::PreparedDeploy& prepared, bool color) {
  Table table = plan_table(prepared.plan);
  for (const action::RecordedDiff& test : test_diffs(prepared, {}))
    table.add({{fmt::format("test {}", change_word(test.change))},
               {test.key.display()},
               {"only mistctl test applies it"}});
  return fmt::format("{}{}{}{}: {}\n", table.empty() ? "" : table.render(color),
                     packages_text(changes_of(prepared)), lookups_text(prepared), prepared.state.id.name,
                     change_counts(prepared));
}

}  // namespace mist::view
