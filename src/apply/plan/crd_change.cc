#include "apply/plan/crd_change.h"

#include <algorithm>
#include <set>

#include "base/result.h"

namespace mist::apply {

using encoding::Value;

namespace {

std::map<std::string, const Value*> versions_of(const Value& crd) {
  std::map<std::string, const Value*> versions;
  const Value* list = crd.at_path({"spec", "versions"});
  if (list == nullptr || !list->is_array()) return versions;
  for (const Value& version : list->as_array()) versions.emplace(version.string_at("name"), &version);
  return versions;
}

std::set<std::string> texts_of(const Value* list) {
  std::set<std::string> texts;
  if (list == nullptr || !list->is_array()) return texts;
  for (const Value& each : list->as_array()) {
    if (each.is_string()) texts.insert(each.as_string());
  }
  return texts;
}

// One version's schema beside what it becomes.
class Narrowing {
 public:
  Narrowing(std::string version, std::vector<std::string>& problems)
      : version_(std::move(version)), problems_(problems) {}

  void compare(const Value& before, const Value& after, const std::string& path) {
    const std::string_view old_type = before.string_at("type"), new_type = after.string_at("type");
    const bool any_before = before.is_true_at(kIntOrString), any_after = after.is_true_at(kIntOrString);
    if (any_after) return;
    if (any_before)
      return problem(path, "was an integer or a string and is {}",
                     new_type.empty() ? "something else" : new_type);
    // A number takes every integer.
    if (!old_type.empty() && !new_type.empty() && old_type != new_type &&
        !(old_type == "integer" && new_type == "number"))
      return problem(path, "was of type {} and is of type {}", old_type, new_type);
    if (before.is_true_at(kPreserve) && !after.is_true_at(kPreserve))
      problem(path, "kept fields that its schema does not name, and keeps them no more");
    compare_properties(before, after, path);
    compare_required(before, after, path);
    compare_member(before, after, "items", path + "[]");
    compare_member(before, after, "additionalProperties", path + ".*");
  }

 private:
  static constexpr std::string_view kPreserve = "x-kubernetes-preserve-unknown-fields";
  static constexpr std::string_view kIntOrString = "x-kubernetes-int-or-string";

  template <typename... Args>
  void problem(const std::string& path, fmt::format_string<Args...> format, Args&&... args) {
    problems_.push_back(fmt::format("in {}, {} {}", version_, path.empty() ? "the object" : path,
                                    fmt::format(format, std::forward<Args>(args)...)));
  }

  void compare_properties(const Value& before, const Value& after, const std::string& path) {
    const Value* old_fields = before.find("properties");
    if (old_fields == nullptr || !old_fields->is_object()) return;
    const Value* new_fields = after.find("properties");
    for (const Value::Member& field : old_fields->as_object()) {
      const std::string name = path + "." + field.key;
      const Value* now = new_fields != nullptr ? new_fields->find(field.key) : nullptr;
      if (now != nullptr)
        compare(field.value, *now, name);
      else if (!after.is_true_at(kPreserve) && after.find("additionalProperties") == nullptr)
        problem(name, "is removed");
    }
  }

  void compare_required(const Value& before, const Value& after, const std::string& path) {
    const std::set<std::string> old_names = texts_of(before.find("required"));
    for (const std::string& name : texts_of(after.find("required"))) {
      const Value* field = after.at_path({"properties", name});
      if (old_names.contains(name) || (field != nullptr && field->find("default") != nullptr)) continue;
      problem(fmt::format("{}.{}", path, name), "is required, and was not");
    }
  }

  void compare_member(const Value& before, const Value& after, std::string_view member,
                      const std::string& path) {
    const Value* was = before.find(member);
    const Value* is = after.find(member);
    if (was != nullptr && is != nullptr && was->is_object() && is->is_object()) compare(*was, *is, path);
  }

  const std::string version_;
  std::vector<std::string>& problems_;
};

}  // namespace

std::vector<std::string> unserved_versions(const Value& live, const Value& wanted) {
  const auto after = versions_of(wanted);
  std::vector<std::string> gone;
  for (const auto& [name, version] : versions_of(live)) {
    const auto now = after.find(name);
    if (version->is_true_at("served") && (now == after.end() || !now->second->is_true_at("served")))
      gone.push_back(name);
  }
  return gone;
}

std::vector<std::string> crd_problems(const Value& live, const Value& wanted, const VersionUsers& users) {
  std::vector<std::string> problems;
  const auto before = versions_of(live), after = versions_of(wanted);
  for (const std::string& stored : texts_of(live.at_path({"status", "storedVersions"}))) {
    if (!after.contains(stored))
      problems.push_back(
          fmt::format("version {} is removed, and objects may be stored in it "
                      "(status.storedVersions)",
                      stored));
  }
  for (const auto& [version, user] : users)
    problems.push_back(
        fmt::format("version {} is no longer served, and {} was last written in it", version, user));
  for (const auto& [name, version] : before) {
    const auto now = after.find(name);
    if (now == after.end()) continue;
    const Value* was = version->at_path({"schema", "openAPIV3Schema"});
    const Value* is = now->second->at_path({"schema", "openAPIV3Schema"});
    if (was != nullptr && is != nullptr) Narrowing(name, problems).compare(*was, *is, "");
  }
  return problems;
}

}  // namespace mist::apply
