#include "catalog/schema_parts.h"

#include <algorithm>

namespace mist::catalog {
namespace {

using encoding::Value;

constexpr std::size_t kMostParts = 200;  // of one input

bool declares_secret(const Value& node) {
  return node.string_at("format") == "password" || node.is_true_at("writeOnly");
}

bool is_among(const std::vector<const Value*>& parts, const Value* part) {
  return std::ranges::find(parts, part) != parts.end();
}

// False: there are too many, and the rest isn't looked at.
bool add_part(SchemaParts& parts, std::vector<const Value*>& to, const Value& part) {
  if (is_among(parts.sure, &part) || is_among(parts.maybe, &part)) return true;
  if (parts.sure.size() + parts.maybe.size() == kMostParts) {
    parts.is_secret = true;
    return false;
  }
  to.push_back(&part);
  return true;
}

void add_items(SchemaParts& parts, std::vector<const Value*>& to, const Value& node,
               std::string_view keyword) {
  if (const Value* const list = node.find(keyword); list != nullptr && list->is_array())
    for (const Value& each : list->as_array())
      if (!add_part(parts, to, each)) return;
}

void add_members(SchemaParts& parts, std::vector<const Value*>& to, const Value& node,
                 std::string_view keyword) {
  if (const Value* const members = node.find(keyword); members != nullptr && members->is_object())
    for (const Value::Member& each : members->as_object())
      if (!add_part(parts, to, each.value)) return;
}

// Those that `node` gives for some of the values that it describes.
void add_alternatives(SchemaParts& parts, const Value& node) {
  for (const std::string_view keyword : {"anyOf", "oneOf"}) add_items(parts, parts.maybe, node, keyword);
  for (const std::string_view keyword : {"if", "then", "else", "not"})
    if (const Value* const found = node.find(keyword)) add_part(parts, parts.maybe, *found);
  for (const std::string_view keyword : {"dependentSchemas", "dependencies"})
    add_members(parts, parts.maybe, node, keyword);
}

}  // namespace

std::vector<std::string_view> sorted_texts(const Value& list) {
  std::vector<std::string_view> texts;
  if (!list.is_array()) return texts;
  for (const Value& each : list.as_array())
    if (each.is_string()) texts.emplace_back(each.as_string());
  std::ranges::sort(texts);
  return texts;
}

const Value* SchemaParts::find(std::string_view keyword) const {
  for (const Value* const part : sure)
    if (const Value* const found = part->find(keyword)) return found;
  return nullptr;
}

InputSchema::InputSchema(const Value& schema) : schema_(schema) { find_secrets(); }

// From each place that says so to all that hold it or refer to it, and so on: linear, however they refer to
// one another. That a default may look like a part of a schema hides an input at worst.
void InputSchema::find_secrets() {
  std::unordered_map<const Value*, std::vector<const Value*>> users;
  std::vector<const Value*> secrets;
  std::vector<const Value*> left{&schema_};
  while (!left.empty()) {
    const Value* const node = left.back();
    left.pop_back();
    const auto hold = [&](const Value& inner) {
      if (!inner.is_object() && !inner.is_array()) return;
      users[&inner].push_back(node);
      left.push_back(&inner);
    };
    if (node->is_array()) std::ranges::for_each(node->as_array(), hold);
    if (!node->is_object()) continue;
    for (const Value::Member& each : node->as_object()) hold(each.value);
    if (declares_secret(*node) || leads_elsewhere(*node)) secrets.push_back(node);
    if (const Value* const target = pointers_.local_reference(schema_, *node)) users[target].push_back(node);
  }
  while (!secrets.empty()) {
    const Value* const node = secrets.back();
    secrets.pop_back();
    if (!secrets_.insert(node).second) continue;
    if (const auto found = users.find(node); found != users.end())
      secrets.insert(secrets.end(), found->second.begin(), found->second.end());
  }
}

// By an anchor, to another document, or from a part with a base of its own.
bool InputSchema::leads_elsewhere(const Value& node) {
  for (const std::string_view keyword : {"$dynamicRef", "$recursiveRef"})
    if (!node.string_at(keyword).empty()) return true;
  if (&node != &schema_ && !node.string_at("$id").empty()) return true;
  return !node.string_at("$ref").empty() && pointers_.local_reference(schema_, node) == nullptr;
}

// With the parts that its parts bring.
void InputSchema::complete(SchemaParts& parts) {
  const auto add_same = [&](std::vector<const Value*>& to, const Value& node) {
    if (const Value* const target = pointers_.local_reference(schema_, node)) add_part(parts, to, *target);
    add_items(parts, to, node, "allOf");
  };
  for (std::size_t i = 0; i < parts.sure.size(); ++i) add_same(parts.sure, *parts.sure[i]);
  for (const Value* const part : parts.sure) add_alternatives(parts, *part);
  for (std::size_t i = 0; i < parts.maybe.size(); ++i) {
    const Value& part = *parts.maybe[i];
    add_same(parts.maybe, part);
    add_alternatives(parts, part);
  }
  const auto is_secret = [&](const Value* part) { return declares_secret(*part) || leads_elsewhere(*part); };
  parts.is_secret = parts.is_secret || std::ranges::any_of(parts.sure, is_secret) ||
                    std::ranges::any_of(parts.maybe, is_secret);
}

SchemaParts InputSchema::root() {
  SchemaParts parts{.sure = {&schema_}};
  complete(parts);
  return parts;
}

SchemaParts InputSchema::member(const SchemaParts& object, std::string_view key) {
  SchemaParts parts{.is_secret = object.is_secret};
  const auto look = [&](const Value& part, std::vector<const Value*>& to) {
    const Value* const members = part.find("properties");
    const Value* const declared = members == nullptr ? nullptr : pointers_.find(*members, key);
    if (declared != nullptr) {
      add_part(parts, to, *declared);
    } else {
      for (const std::string_view others : {"additionalProperties", "unevaluatedProperties"})
        if (const Value* const found = part.find(others)) add_part(parts, parts.maybe, *found);
    }
    // Any of them may fit the key.
    add_members(parts, parts.maybe, part, "patternProperties");
  };
  for (const Value* const part : object.sure) look(*part, parts.sure);
  for (const Value* const part : object.maybe) look(*part, parts.maybe);
  complete(parts);
  return parts;
}

bool InputSchema::requires_member(const SchemaParts& object, std::string_view key) {
  return std::ranges::any_of(object.sure, [&](const Value* part) {
    const Value* const list = part->find("required");
    if (list == nullptr) return false;
    const auto [names, is_new] = required_.try_emplace(list);
    if (is_new) names->second = sorted_texts(*list);
    return std::ranges::binary_search(names->second, key);
  });
}

bool InputSchema::holds_secrets(const SchemaParts& parts) const {
  const auto is_one = [&](const Value* part) { return secrets_.contains(part); };
  return parts.is_secret || std::ranges::any_of(parts.sure, is_one) ||
         std::ranges::any_of(parts.maybe, is_one);
}

}  // namespace mist::catalog
