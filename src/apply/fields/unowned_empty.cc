#include "apply/fields/unowned_empty.h"

#include <algorithm>

#include "apimachinery/built_in_groups.h"
#include "apimachinery/managed_fields.h"
#include "apply/fields/field_path.h"
#include "encoding/json.h"

namespace mist::apply {
namespace {

bool holds_only_empty_lists(const Value& value) {
  if (value.is_array()) return value.empty();
  return value.is_object() && !value.empty() &&
         std::ranges::all_of(value.as_object(),
                             [](const Value::Member& each) { return holds_only_empty_lists(each.value); });
}

// One place in the three objects, and what each manager owns there (fieldsV1).
struct Trio {
  const Value& recorded;
  const Value* wanted;  // null: nothing
  const Value& live;
  std::vector<const Value*> owned;
};

std::vector<const Value*> below(const std::vector<const Value*>& owned, const std::string& entry) {
  std::vector<const Value*> inner;
  for (const Value* each : owned)
    if (const Value* there = each->find(entry)) inner.push_back(there);
  return inner;
}

class Search {
 public:
  std::vector<FieldDifference> found;

  void in_map(const Trio& at) {
    for (const Value::Member& member : at.recorded.as_object()) {
      const Value* const live = at.live.find(member.key);
      if (live == nullptr || (steps_.empty() && member.key == "metadata")) continue;
      const Value* const wanted = at.wanted == nullptr ? nullptr : at.wanted->find(member.key);
      steps_.push_back({.kind = PathStep::Kind::Field, .name = member.key});
      in({member.value, wanted, *live, below(at.owned, "f:" + member.key)});
      steps_.pop_back();
    }
  }

 private:
  void in(const Trio& at) {
    const bool left = at.wanted == nullptr && at.owned.empty() && holds_only_empty_lists(at.recorded) &&
                      holds_only_empty_lists(at.live);
    if (left) return add(at.live);
    if (at.recorded.is_object() && at.live.is_object()) return in_map(at);
    if (at.recorded.is_array() && at.live.is_array() && at.wanted != nullptr && at.wanted->is_array())
      in_list(at);
  }

  // Only items that somebody owns have a key to find them by. One that isn't wanted goes as a whole.
  void in_list(const Trio& at) {
    std::vector<std::string> entries;
    for (const Value* owned : at.owned) {
      if (!owned->is_object()) continue;
      for (const Value::Member& each : owned->as_object())
        if (each.key.starts_with("k:")) entries.push_back(each.key);
    }
    std::ranges::sort(entries);
    const auto repeated = std::ranges::unique(entries);
    entries.erase(repeated.begin(), repeated.end());
    for (const std::string& entry : entries) {
      auto key = encoding::parse_json(std::string_view(entry).substr(2));
      if (!key.ok() || !key->is_object()) continue;
      const std::vector<PathStep> step{{.kind = PathStep::Kind::Key, .key = *std::move(key)}};
      const Value* const recorded = place_at(at.recorded, step);
      const Value* const wanted = place_at(*at.wanted, step);
      const Value* const live = place_at(at.live, step);
      if (recorded == nullptr || wanted == nullptr || live == nullptr || !recorded->is_object() ||
          !live->is_object())
        continue;
      steps_.push_back(step.front());
      in_map({*recorded, wanted, *live, below(at.owned, entry)});
      steps_.pop_back();
    }
  }

  void add(const Value& live) {
    FieldDifference left;
    left.path = path_text(steps_);
    left.before = live;
    left.steps = steps_;
    left.empties = true;
    found.push_back(std::move(left));
  }

  std::vector<PathStep> steps_;
};

}  // namespace

bool may_own_nothing(const Value& map) { return map.empty() || holds_only_empty_lists(map); }

std::vector<FieldDifference> lists_left_empty(const Value& recorded, const Value& wanted, const Value& live) {
  // The built-in types store no empty list.
  const std::string_view version = live.string_at("apiVersion");
  const std::string_view group = version.substr(0, std::min(version.size(), version.find('/')));
  if (!version.contains('/') || apimachinery::is_built_in_group(group)) return {};
  std::vector<const Value*> owned;
  for (const Value& entry : apimachinery::managed_fields(live))
    if (const Value* fields = entry.find("fieldsV1")) owned.push_back(fields);
  Search search;
  search.in_map({recorded, &wanted, live, std::move(owned)});
  return std::move(search.found);
}

}  // namespace mist::apply
