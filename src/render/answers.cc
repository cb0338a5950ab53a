#include "render/answers.h"

#include <algorithm>

#include "base/text.h"
#include "package/kube_render.h"
#include "render/hidden_values.h"

namespace mist::render {
namespace {

using encoding::Value;
using package::answer_at;

constexpr std::string_view kAnswers = "answers";
constexpr std::string_view kName = "name";
constexpr std::string_view kSecret = "secret";

// False: something that is no object is in the way.
bool set_value_at(Value& values, std::string_view name, const Value& answer) {
  Value* place = &values;
  const std::vector<std::string_view> parts = split(name, '.');
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    if (place->find(parts[i]) == nullptr) place->set(parts[i], Value::object());
    place = place->find(parts[i]);
    if (!place->is_object()) return false;
  }
  place->set(parts.back(), answer);
  return true;
}

}  // namespace

void Answers::record(Value& options) const {
  if (all.empty()) return;
  Value::Array list;
  for (const package::Answer& each : all)
    list.push_back(Value::object({{kName, each.name}, {kSecret, each.secret}}));
  options.set(kAnswers, Value(std::move(list)));
}

Answers Answers::recorded(const Value& options) {
  Answers answers;
  const Value* const list = options.is_object() ? options.find(kAnswers) : nullptr;
  if (list == nullptr || !list->is_array()) return answers;
  for (const Value& each : list->as_array()) {
    const Value* const secret = each.is_object() ? each.find(kSecret) : nullptr;
    if (secret == nullptr || !secret->is_bool() || each.string_at(kName).empty()) continue;
    answers.all.push_back({std::string(each.string_at(kName)), secret->as_bool()});
  }
  std::ranges::sort(answers.all);
  return answers;
}

void Answers::keep(const Answers& earlier, const Value& values) {
  for (const package::Answer& each : earlier.all) {
    const Value* const value = answer_at(values, each.name);
    if (value == nullptr || value->is_null()) continue;
    if (std::ranges::find(all, each.name, &package::Answer::name) == all.end()) all.push_back(each);
  }
  std::ranges::sort(all);
}

Result<Value> with_answers(Value values, const release::Revision* stored, const package::Source& source) {
  if (stored == nullptr || !stored->user_values.is_object()) return values;
  const Answers answers = Answers::recorded(stored->options);
  if (answers.all.empty()) return values;
  MIST_TRY(const bool asks, package::runs_a_script(source));
  if (!asks) return values;
  for (const package::Answer& each : answers.all) {
    const Value* const answer = answer_at(stored->user_values, each.name);
    // A value that is set to null is to be asked for again.
    if (answer != nullptr && answer_at(values, each.name) == nullptr)
      set_value_at(values, each.name, *answer);
  }
  return values;
}

void hide_answers(release::Revision& revision) {
  for (const package::Answer& each : Answers::recorded(revision.options).all)
    if (each.secret && answer_at(revision.user_values, each.name) != nullptr)
      set_value_at(revision.user_values, each.name, Value(HiddenValues::kMask));
}

}  // namespace mist::render
