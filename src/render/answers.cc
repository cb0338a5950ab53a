#include "render/answers.h"

#include <algorithm>

#include "base/text.h"
#include "package/kube_render.h"
#include "render/hidden_values.h"
#include "render/recorded_options.h"

namespace mist::render {
namespace {

using encoding::Value;
using package::answer_at;

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
  const Answers answers = RecordedOptions::from_value(stored->options).answers;
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
  const Answers answers = RecordedOptions::from_value(revision.options).answers;
  for (const package::Answer& each : answers.all)
    if (each.secret && answer_at(revision.user_values, each.name) != nullptr)
      set_value_at(revision.user_values, each.name, Value(HiddenValues::kMask));
}

}  // namespace mist::render
