#include "render/hidden_values.h"

#include "base/diagnosis.h"

#include "base/text.h"
#include "encoding/json.h"
#include "encoding/member_finder.h"
#include "package/looked_up.h"
#include "render/answers.h"
#include "render/value_paths.h"

namespace mist::render {
namespace {

using release::DrawnField;
using release::RenderedObject;

bool is_leaf(const Value& value) { return !value.is_object() && !value.is_array(); }

// Empty: there is nothing to hide.
std::string text_of(const Value& leaf) {
  if (leaf.is_string()) return leaf.as_string();
  return leaf.is_null() || leaf.is_bool() ? std::string() : encoding::to_json(leaf);
}

void set(Value& value, std::string_view text) {
  const encoding::Position position = value.position();
  value = Value(text);
  value.set_position(position);
}

// Fields that identify the object, in which all its states agree.
bool is_identity(std::string_view path) {
  return path == ".apiVersion" || path == ".kind" || path == ".metadata.name" ||
         path == ".metadata.namespace";
}

// Calls `each` with every lowest value; not with those that say which object it is.
template <typename Each>
void for_each_leaf(Value& value, const std::string& path, const Each& each) {
  if (value.is_object()) {
    for (Value::Member& member : value.as_object())
      if (const std::string below = path + "." + member.key; !is_identity(below))
        for_each_leaf(member.value, below, each);
  } else if (value.is_array()) {
    for (Value& item : value.as_array()) for_each_leaf(item, path + "[]", each);
  } else {
    each(value);
  }
}

// LiveOwner what differs from its counterpart in `other`.
void mark(Value& value, const Value* other, const std::string& path, const HiddenValues& hidden,
          std::string_view changed) {
  if (value.is_object()) {
    const encoding::MemberFinder others(other);
    for (Value::Member& member : value.as_object()) {
      const std::string below = path + "." + member.key;
      if (is_identity(below)) continue;
      mark(member.value, others.find(member.key), below, hidden, changed);
    }
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      const bool both = other != nullptr && other->is_array() && i < other->size();
      mark(value.as_array()[i], both ? &other->as_array()[i] : nullptr, path + "[]", hidden, changed);
    }
  } else if (hidden.hides(value)) {
    set(value, other == nullptr || *other == value ? HiddenValues::kMask : changed);
  }
}

}  // namespace

void HiddenValues::add_text(const std::string& text) {
  if (text.empty()) return;
  whole_.insert(text);
  whole_.insert(base64_encode(text));
  if (text.size() < package::kShortestInText) return;
  parts_.insert(text);
  parts_.insert(base64_encode(text));
}

// With the ways in which it is quoted, and its lines.
void HiddenValues::add(const std::map<std::string, SecretString>& values) {
  for (const auto& [name, value] : values) {
    std::map<std::string, SecretString> forms;
    package::add_forms(forms, name, value.reveal());
    for (const auto& [form, text] : forms) add_text(text.reveal());
  }
  prepare();
}

void HiddenValues::add(const std::vector<DrawnField>& fields, const ObjectView& objects) {
  add_fields(fields, objects);
  prepare();
}

void HiddenValues::add_fields(const std::vector<DrawnField>& fields, const ObjectView& objects) {
  std::map<apimachinery::ObjectKey, Nodes> known;
  for (const DrawnField& field : fields) {
    const auto object = objects.find(field.key);
    if (object == objects.end()) continue;
    const auto [nodes, is_new] = known.try_emplace(field.key);
    if (is_new) nodes->second = nodes_of(*object->second);
    if (const auto value = nodes->second.find(field.path); value != nodes->second.end())
      add_text(text_of(*value->second));
  }
}

void HiddenValues::add(const release::Revision& revision) {
  if (revision.drawn.looked_up.empty()) return;
  for (const auto* list : {&revision.objects, &revision.tests, &revision.hooks})
    add_fields(revision.drawn.looked_up, view_of(*list));
  prepare();
}

bool HiddenValues::hides(const Value& leaf) const {
  if (empty() || !is_leaf(leaf)) return false;
  const std::string text = text_of(leaf);
  if (text.empty()) return false;
  if (whole_.contains(text)) return true;
  if (in_texts_.finds(text)) return true;
  std::string plain;
  return text.size() >= package::kShortestInText && base64_decode(text, plain) && in_texts_.finds(plain);
}

void HiddenValues::mask(Value& value) const {
  if (empty()) return;
  for_each_leaf(value, "", [&](Value& leaf) {
    if (hides(leaf)) set(leaf, kMask);
  });
}

void HiddenValues::mask(Value& before, Value& after) const {
  if (empty()) return;
  const Value old = before;
  mark(before, &after, "", *this, kMaskBefore);
  mark(after, &old, "", *this, kMaskAfter);
}

std::string HiddenValues::masked(std::string text) const { return in_texts_.masked(std::move(text), kMask); }

Error HiddenValues::masked(Error failure) const {
  if (empty()) return failure;
  return with_texts(std::move(failure), [this](std::string text) { return masked(std::move(text)); });
}

std::vector<DrawnField> HiddenValues::fields_in(const ObjectView& objects) const {
  std::vector<DrawnField> fields;
  if (empty()) return fields;
  for (const auto& [key, object] : objects) {
    for (const auto& [path, value] : nodes_of(*object)) {
      if (!is_identity(path) && hides(*value)) fields.push_back({.key = key, .path = path});
    }
  }
  return fields;
}

void hide_looked_up(release::Revision& revision) {
  hide_answers(revision);
  HiddenValues hidden;
  hidden.add(revision);
  if (hidden.empty()) return;
  for (auto* list : {&revision.objects, &revision.tests, &revision.hooks})
    for (RenderedObject& rendered : *list) hidden.mask(rendered.object.mutable_value());
}

}  // namespace mist::render
