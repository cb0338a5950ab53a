#include "action/query/diff.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "action/query/secret_data.h"
#include "apply/fields/field_transfer.h"
#include "apply/reserved_metadata.h"
#include "base/text.h"
#include "encoding/yaml.h"
#include "render/hidden_values.h"

namespace mist::action {
namespace {

using apply::ActionKind;
using apply::FieldDifference;
using apply::PlannedAction;
using encoding::Value;

constexpr std::string_view kMaskBefore = render::HiddenValues::kMaskBefore;
constexpr std::string_view kMaskAfter = render::HiddenValues::kMaskAfter;

// Removes the server's own fields, and the ownership labels, which are the same for all objects.
void strip(Value& object) {
  object.erase("status");
  Value* metadata = object.find("metadata");
  if (metadata == nullptr) return;
  for (const std::string_view name :
       {"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"})
    metadata->erase(name);
  const auto without = [&](std::string_view member, std::span<const std::string_view> names) {
    Value* map = metadata->find(member);
    if (map == nullptr || !map->is_object()) return;
    for (const std::string_view name : names) map->erase(name);
    if (map->empty()) metadata->erase(member);
  };
  without("labels", apply::kOwnershipLabels);
  without("annotations", std::array{apply::kReleaseAnnotation});
}

void forget_positions(Value& value) {
  value.set_position({});
  if (value.is_object()) {
    for (Value::Member& member : value.as_object()) forget_positions(member.value);
  } else if (value.is_array()) {
    for (Value& item : value.as_array()) forget_positions(item);
  }
}

void mask_all(Value& value, std::string_view text) {
  if (value.is_object()) {
    for (Value::Member& member : value.as_object()) mask_all(member.value, text);
  } else if (!value.is_null()) {
    value = Value(text);
  }
}

struct Line {
  std::string text;
  std::uint32_t source = 0;
};

// YAML, one line after another, each knowing where its value was written.
class Printer {
 public:
  std::vector<Line> lines;

  void object(const Value& value, std::size_t indent) {
    for (const Value::Member& member : value.as_object()) {
      const std::string key = encoding::to_yaml_line(Value(member.key));
      put(member.value, std::string(indent, ' ') + key + ":", indent);
    }
  }

 private:
  static bool nested(const Value& value) { return (value.is_object() || value.is_array()) && !value.empty(); }

  void put(const Value& value, const std::string& head, std::size_t indent) {
    const std::uint32_t source = value.position().line;
    if (!nested(value)) return put_scalar(value, head, indent, source);
    if (value.is_object()) {
      lines.push_back({head, 0});
      return object(value, indent + 2);
    }
    lines.push_back({head, 0});
    array(value, indent);
  }

  void put_scalar(const Value& value, const std::string& head, std::size_t indent, std::uint32_t source) {
    // A text with line breaks is a block, of which only the first line has a place of its own.
    if (value.is_string() && value.as_string().find('\n') != std::string::npos) {
      lines.push_back({fmt::format("{} {}", head, block_header(value.as_string())), source});
      for (const std::string_view part : split_lines(value.as_string()))
        lines.push_back({std::string(indent + 2, ' ') + std::string(part), source});
      return;
    }
    lines.push_back({head + " " + encoding::to_yaml_line(value), source});
  }

  // The digit is the indentation, which a text that begins with white space doesn't show; "-": the text
  // doesn't end in a line break; "+": it ends in more than one.
  static std::string block_header(std::string_view text) {
    std::string header = "|";
    if (text.starts_with(' ') || text.starts_with('\n')) header += '2';
    if (!text.ends_with('\n'))
      header += '-';
    else if (text == "\n" || text.ends_with("\n\n"))
      header += '+';
    return header;
  }

  static std::vector<std::string_view> split_lines(std::string_view text) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    return split(text, '\n');
  }

  void array(const Value& value, std::size_t indent) {
    for (const Value& item : value.as_array()) {
      const std::string dash = std::string(indent, ' ') + "-";
      if (!nested(item)) {
        put_scalar(item, dash, indent, item.position().line);
        continue;
      }
      // The first line of the item stands beside its dash.
      const std::size_t first = lines.size();
      if (item.is_object())
        object(item, indent + 2);
      else
        array(item, indent + 2);
      if (first < lines.size()) lines[first].text[indent] = '-';
    }
  }
};

std::vector<Line> printed(const Value& object) {
  Printer printer;
  if (object.is_object()) printer.object(object, 0);
  return std::move(printer.lines);
}

std::vector<Hunk> hunks_of(const Value& before, const Value& after, std::size_t context) {
  const std::vector<Line> old_lines = printed(before), new_lines = printed(after);
  const auto texts = [](const std::vector<Line>& lines) {
    std::vector<std::string> result;
    result.reserve(lines.size());
    for (const Line& line : lines) result.push_back(line.text);
    return result;
  };
  const std::vector<LineEdit> edits = diff_lines(texts(old_lines), texts(new_lines));
  std::vector<Hunk> found;
  for (const std::span<const LineEdit> edited : hunks(edits, context)) {
    Hunk& hunk = found.emplace_back(Hunk{edited.front().before + 1, edited.front().after + 1, {}});
    for (const LineEdit& edit : edited) {
      const bool removed = edit.change == LineChange::Removed;
      const Line& line = removed ? old_lines[edit.before] : new_lines[edit.after];
      hunk.lines.push_back({edit.change, line.text, edit.change == LineChange::Added ? line.source : 0});
    }
  }
  return found;
}

class Differ {
 public:
  Differ(const apply::Plan& plan, const apply::LiveState& live, const DiffOptions& options)
      : plan_(plan), live_(live), options_(options) {}

  ObjectDiff of_write(const PlannedAction& action) const {
    const release::RenderedObject& rendered = plan_.desired[action.desired].rendered;
    ObjectDiff result;
    result.action = &action;
    result.file = rendered.source_file();
    result.package = rendered.package;
    result.line = rendered.line;
    Value before = live(action), after = rendered.object.value();
    // A conflict of whose fields nothing is known shows none.
    const bool unknown = action.kind == ActionKind::Conflict && action.differences.empty();
    if (action.kind != ActionKind::Create)
      after = unknown || before.is_null() ? before : apply::with_differences(before, action.differences);
    result.fields = action.differences;
    if (const auto goes = last_applied_goes(action, after)) {
      after = apply::with_differences(std::move(after), {*goes});
      result.fields.push_back(*goes);
    }
    finish(result, before, after);
    return result;
  }

  ObjectDiff of_removal(const PlannedAction& action) const {
    ObjectDiff result;
    result.action = &action;
    Value before = live(action), after;
    if (action.kind == ActionKind::Retain) after = before;
    result.fields = action.differences;
    finish(result, before, after);
    return result;
  }

 private:
  // kubectl's annotation of its last apply goes with its fields, by the write before the apply.
  static std::optional<FieldDifference> last_applied_goes(const PlannedAction& action, const Value& object) {
    const bool writes = action.kind == ActionKind::Adopt || action.kind == ActionKind::Update;
    if (!writes || !action.transfer || !action.transfer->last_applied) return std::nullopt;
    const Value* text = object.at_path({"metadata", "annotations", apply::kLastAppliedAnnotation});
    if (text == nullptr) return std::nullopt;
    FieldDifference goes{.path = fmt::format(".metadata.annotations[\"{}\"]", apply::kLastAppliedAnnotation),
                         .before = *text};
    for (const std::string_view name :
         {std::string_view("metadata"), std::string_view("annotations"), apply::kLastAppliedAnnotation})
      goes.steps.push_back({.kind = apply::PathStep::Kind::Field, .name = std::string(name)});
    return goes;
  }

  Value live(const PlannedAction& action) const {
    const auto found = live_.find(action.key);
    if (found == live_.end() || !found->second.whole) return {};
    Value copy = found->second.value;
    forget_positions(copy);
    return copy;
  }

  void finish(ObjectDiff& result, Value before, Value after) const {
    const apimachinery::GroupKind& kind = result.action->key.group_kind;
    strip(before);
    strip(after);
    if (!options_.show_secrets) mask_secret_data(kind, before, after);
    const render::HiddenValues* const hidden = options_.show_secrets ? nullptr : options_.hidden;
    if (hidden != nullptr) hidden->mask(before, after);
    result.hunks = hunks_of(before, after, options_.context);
    if (hidden != nullptr)
      for (FieldDifference& difference : result.fields) hidden->mask(difference.before, difference.after);
    if (options_.show_secrets) return;
    for (FieldDifference& difference : result.fields) {
      if (!holds_secret_data(kind, difference.path)) continue;
      mask_all(difference.before, kMaskBefore);
      mask_all(difference.after, kMaskAfter);
    }
  }

  const apply::Plan& plan_;
  const apply::LiveState& live_;
  const DiffOptions& options_;
};

}  // namespace

std::vector<RecordedDiff> diff_of_recorded(const std::vector<release::RenderedObject>& before,
                                           const std::vector<release::RenderedObject>& after,
                                           const DiffOptions& options) {
  using Tests = std::map<apimachinery::ObjectKey, const release::RenderedObject*>;
  const auto by_key = [](const std::vector<release::RenderedObject>& tests) {
    Tests map;
    for (const release::RenderedObject& test : tests) map.emplace(test.object.key(), &test);
    return map;
  };
  const Tests old_tests = by_key(before), new_tests = by_key(after);
  // Tests run in their order, so a place among those that stay is a difference too.
  const auto places = [](const std::vector<release::RenderedObject>& tests, const Tests& others) {
    std::map<apimachinery::ObjectKey, std::size_t> map;
    for (const release::RenderedObject& test : tests)
      if (others.contains(test.object.key())) map.emplace(test.object.key(), map.size());
    return map;
  };
  const auto old_places = places(before, new_tests), new_places = places(after, old_tests);
  const auto hunks = [&](const apimachinery::ObjectKey& key, Value old_value, Value new_value) {
    forget_positions(old_value);
    if (!options.show_secrets) mask_secret_data(key.group_kind, old_value, new_value);
    if (options.hidden != nullptr && !options.show_secrets) options.hidden->mask(old_value, new_value);
    return hunks_of(old_value, new_value, options.context);
  };
  std::vector<RecordedDiff> result;
  for (const release::RenderedObject& wanted : after) {
    const apimachinery::ObjectKey key = wanted.object.key();
    const auto known = old_tests.find(key);
    if (known == old_tests.end()) {
      result.push_back(
          {key, LineChange::Added, wanted.source_file(), wanted.line, hunks(key, {}, wanted.object.value())});
      continue;
    }
    const bool differs = known->second->object.value() != wanted.object.value();
    if (differs || old_places.at(key) != new_places.at(key))
      result.push_back({key, LineChange::Same, wanted.source_file(), wanted.line,
                        hunks(key, known->second->object.value(), wanted.object.value()), !differs});
  }
  for (const release::RenderedObject& gone : before) {
    const apimachinery::ObjectKey key = gone.object.key();
    if (!new_tests.contains(key))
      result.push_back({key, LineChange::Removed, {}, 0, hunks(key, gone.object.value(), {})});
  }
  return result;
}

std::vector<ObjectDiff> diff_of(const apply::Plan& plan, const apply::LiveState& live,
                                const DiffOptions& options) {
  const Differ differ(plan, live, options);
  std::vector<ObjectDiff> result;
  for (const PlannedAction& action : plan.writes) {
    if (action.kind != ActionKind::Unchanged) result.push_back(differ.of_write(action));
  }
  for (const PlannedAction& action : plan.removals) {
    if (action.kind != ActionKind::Retain || !action.recorded.was_retained)
      result.push_back(differ.of_removal(action));
  }
  return result;
}

}  // namespace mist::action
