#include "apply/order/label_index.h"

#include "apply/order/label_match.h"
#include "encoding/json.h"

namespace mist::apply {

using encoding::Value;

namespace {

std::string text_of_label(const Value::Member& label) {
  return label.key + '=' + encoding::to_json(label.value);
}

// Everything that one comparison may look at.
std::size_t size_of(const Value& value) {
  std::size_t size = 1;
  if (value.is_object())
    for (const Value::Member& member : value.as_object()) size += size_of(member.value);
  else if (value.is_array())
    for (const Value& item : value.as_array()) size += size_of(item);
  return size;
}

}  // namespace

void LabelIndex::add(std::size_t id, const Value* labels) {
  all_.push_back(id);
  labels_[id] = labels;
  if (labels == nullptr || !labels->is_object()) return;
  for (const Value::Member& label : labels->as_object()) with_[text_of_label(label)].push_back(id);
}

std::optional<std::vector<std::size_t>> LabelIndex::selected(const Value& selector,
                                                             WorkBudget& budget) const {
  return select(selector, selector.find("matchLabels"), &selects, budget);
}

std::optional<std::vector<std::size_t>> LabelIndex::selected_by_map(const Value& map,
                                                                    WorkBudget& budget) const {
  return select(map, &map, &selects_by_map, budget);
}

std::optional<std::vector<std::size_t>> LabelIndex::select(const Value& selector, const Value* map,
                                                           Matches matches, WorkBudget& budget) const {
  const std::vector<std::size_t>* candidates = &all_;
  if (map != nullptr && map->is_object()) {
    for (const Value::Member& label : map->as_object()) {
      const auto with = with_.find(text_of_label(label));
      if (with == with_.end()) return std::vector<std::size_t>();
      if (with->second.size() < candidates->size()) candidates = &with->second;
    }
  }
  const std::size_t cost = size_of(selector);
  std::vector<std::size_t> chosen;
  for (const std::size_t id : *candidates) {
    const Value* const labels = labels_.at(id);
    // A label is found by a scan.
    const std::size_t scan = labels != nullptr && labels->is_object() ? labels->size() + 1 : 1;
    if (!budget.spend(cost * scan)) return std::nullopt;
    if (matches(selector, labels)) chosen.push_back(id);
  }
  return chosen;
}

}  // namespace mist::apply
