#include "catalog/version_changes.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "base/text_diff.h"
#include "encoding/json.h"
#include "encoding/yaml.h"

namespace mist::catalog {
namespace {

using encoding::Value;

// Of one object, and of all: more is nothing to read in a browser.
constexpr std::size_t kMostLines = 2'000;
constexpr std::size_t kMostLinesOfAll = 20'000;
// The shortest diff is looked for up to so many edits, and in all within so many steps (text_diff.h), about
// 0.1 s: anybody may ask. Texts that differ in more are shown as removed and added.
constexpr std::size_t kMostEditsOfOne = 1'000;
constexpr std::size_t kMostSteps = 20'000'000;

using Texts = std::map<std::string, std::string>;

Result<Texts> texts_in(std::string_view bytes) {
  MIST_TRY(const Value list, encoding::parse_json(bytes));
  Texts texts;
  if (!list.is_array()) return error(ErrorKind::Invalid, "the objects of a version aren't a list");
  for (const Value& each : list.as_array())
    texts.emplace(std::string(each.string_at("object")), std::string(each.string_at("yaml")));
  return texts;
}

std::vector<std::string> lines_with(char sign, std::string_view text) {
  std::vector<std::string> lines;
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (const std::string_view line : split(text, '\n')) lines.push_back(sign + std::string(line));
  return lines;
}

class Differ {
 public:
  std::vector<std::string> diff(std::string_view before, std::string_view after) {
    const auto count =
        static_cast<std::size_t>(std::ranges::count(before, '\n') + std::ranges::count(after, '\n') + 2);
    const std::size_t bound = std::min(kMostEditsOfOne, steps_ / (kMostEditsOfOne + count));
    std::vector<std::string> lines = unified_diff(before, after, kContext, bound);
    const auto changed = static_cast<std::size_t>(std::ranges::count_if(
        lines, [](const std::string& line) { return line.starts_with('+') || line.starts_with('-'); }));
    const std::size_t edits = std::min(bound, changed);
    steps_ -= edits * (edits + count);
    return lines;
  }

 private:
  static constexpr std::size_t kContext = 3;
  std::size_t steps_ = kMostSteps;
};

class Comparison {
 public:
  Comparison(VersionChanges& changes, Differ& differ) : changes_(changes), differ_(differ) {}

  void compare(const Texts& before, const Texts& after) {
    for (const auto& old : before)
      if (!after.contains(old.first))
        add(old.first, ChangeOf::Removed, [&] { return lines_with('-', old.second); });
    for (const auto& now : after) {
      const auto was = before.find(now.first);
      if (was == before.end())
        add(now.first, ChangeOf::Added, [&] { return lines_with('+', now.second); });
      else if (was->second != now.second)
        add(now.first, ChangeOf::Changed, [&] { return differ_.diff(was->second, now.second); });
      else
        ++changes_.unchanged;
    }
    std::ranges::sort(changes_.objects, {}, &ObjectChange::object);
  }

 private:
  template <typename LinesOf>
  void add(const std::string& object, ChangeOf change, const LinesOf& lines_of) {
    if (left_ == 0) {
      changes_.objects.push_back({.object = object, .change = change, .cut = true});
      return;
    }
    std::vector<std::string> lines = lines_of();
    const std::size_t most = std::min(kMostLines, left_);
    const bool cut = lines.size() > most;
    if (cut) lines.resize(most);
    left_ -= lines.size();
    changes_.objects.push_back({object, change, std::move(lines), cut});
  }

  VersionChanges& changes_;
  Differ& differ_;
  std::size_t left_ = kMostLinesOfAll;
};

std::string schema_text(const Value& schema) {
  return schema.is_null() ? std::string() : encoding::to_yaml(schema);
}

std::vector<std::string> diff_of(Differ& differ, std::string_view before, std::string_view after) {
  std::vector<std::string> lines = differ.diff(before, after);
  if (lines.size() > kMostLines) lines.resize(kMostLines);
  return lines;
}

Value list_of(const std::vector<std::string>& lines) {
  Value list = Value::array();
  for (const std::string& line : lines) list.push_back(line);
  return list;
}

}  // namespace

std::string text_of(const std::vector<release::RenderedObject>& objects) {
  // Charts may have an object twice: a hook that runs at several times.
  std::map<std::string, std::string> texts;
  for (const release::RenderedObject& each : objects) {
    std::string& text = texts[each.object.key().display()];
    text += fmt::format("{}{}", text.empty() ? "" : "---\n", encoding::to_yaml(each.object.value()));
  }
  Value list = Value::array();
  for (auto& [object, text] : texts)
    list.push_back(Value::object({{"object", object}, {"yaml", std::move(text)}}));
  return encoding::to_json(list);
}

std::string_view to_string(ChangeOf change) {
  switch (change) {
    case ChangeOf::Added:
      return "added";
    case ChangeOf::Removed:
      return "removed";
    case ChangeOf::Changed:
      return "changed";
  }
  return "changed";
}

Result<VersionChanges> changes_between(const Version& from, std::string_view before, const Version& to,
                                       std::string_view after) {
  Differ differ;
  const bool too_long = before == kTooLongText || after == kTooLongText;
  VersionChanges changes{
      .from = from.version,
      .to = to.version,
      .objects_known = !before.empty() && !after.empty() && !too_long,
      .too_long = too_long,
      .defaults = diff_of(differ, from.facts.defaults, to.facts.defaults),
      .inputs = diff_of(differ, schema_text(from.facts.inputs), schema_text(to.facts.inputs))};
  if (!changes.objects_known) return changes;
  MIST_TRY(const Texts was, texts_in(before));
  MIST_TRY(const Texts is, texts_in(after));
  Comparison(changes, differ).compare(was, is);
  return changes;
}

Value to_value(const VersionChanges& changes) {
  Value objects = Value::array();
  for (const ObjectChange& each : changes.objects)
    objects.push_back(Value::object({{"object", each.object},
                                     {"change", to_string(each.change)},
                                     {"lines", list_of(each.lines)},
                                     {"cut", Value(each.cut)}}));
  return Value::object({{"from", changes.from},
                        {"to", changes.to},
                        {"objectsKnown", Value(changes.objects_known)},
                        {"tooLong", Value(changes.too_long)},
                        {"objects", std::move(objects)},
                        {"unchanged", Value(changes.unchanged)},
                        {"defaults", list_of(changes.defaults)},
                        {"inputs", list_of(changes.inputs)}});
}

}  // namespace mist::catalog
