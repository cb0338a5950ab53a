#include "testing/managed_fields.h"

#include <fmt/core.h>

namespace mist::testing {

std::vector<Manager> managers_of(const Value& object) {
  std::vector<Manager> managers;
  const Value* entries = object.at_path({"metadata", "managedFields"});
  if (entries == nullptr || !entries->is_array()) return managers;
  for (const Value& entry : entries->as_array()) {
    const Value* fields = entry.find("fieldsV1");
    managers.push_back({std::string(entry.string_at("manager")), std::string(entry.string_at("operation")),
                        std::string(entry.string_at("apiVersion")), std::string(entry.string_at("time")),
                        std::string(entry.string_at("subresource")),
                        fields == nullptr ? FieldSet() : FieldSet::from_fields_v1(*fields)});
  }
  return managers;
}

void set_managers(Value& object, const std::vector<Manager>& managers) {
  Value entries = Value::array();
  for (const Manager& manager : managers) {
    if (manager.fields.empty()) continue;
    Value entry = Value::object({{"manager", manager.name},
                                 {"operation", manager.operation},
                                 {"apiVersion", manager.api_version},
                                 {"time", manager.time},
                                 {"fieldsType", "FieldsV1"},
                                 {"fieldsV1", manager.fields.to_fields_v1()}});
    if (!manager.subresource.empty()) entry.set("subresource", manager.subresource);
    entries.push_back(std::move(entry));
  }
  if (entries.size() == 0)
    object["metadata"].erase("managedFields");
  else
    object["metadata"].set("managedFields", std::move(entries));
}

Manager& manager_named(std::vector<Manager>& managers, std::string_view name, std::string_view operation,
                       std::string_view subresource) {
  for (Manager& manager : managers)
    if (manager.name == name && manager.operation == operation && manager.subresource == subresource)
      return manager;
  managers.push_back({std::string(name), std::string(operation), {}, {}, std::string(subresource), {}});
  return managers.back();
}

void take_ownership(const Value& before, Value& after, const std::string& writer,
                    std::string_view subresource, const std::string& time) {
  const FieldChanges changes = compare_fields(before, after);
  std::vector<Manager> managers = managers_of(before);
  Manager& own = manager_named(managers, writer, "Update", subresource);
  add(own.fields, changes.written);
  if (!changes.written.empty()) {
    own.time = time;
    own.api_version = after.string_at("apiVersion");
  }
  for (Manager& manager : managers) {
    if (&manager != &own) manager.fields = difference(manager.fields, changes.written);
    manager.fields = difference(manager.fields, changes.removed);
  }
  set_managers(after, managers);
}

std::string conflict_words(const std::vector<std::pair<const Manager*, FieldSet>>& conflicts) {
  const auto named = [](const Manager& manager) {
    std::string text = fmt::format("\"{}\"", manager.name);
    if (!manager.subresource.empty()) text += fmt::format(" with subresource \"{}\"", manager.subresource);
    if (manager.operation == "Update")
      text += fmt::format(" using {} at {}", manager.api_version, manager.time);
    return text;
  };
  std::size_t count = 0;
  for (const auto& [manager, fields] : conflicts) count += fields.paths().size();
  if (count == 1)
    return fmt::format("Apply failed with 1 conflict: conflict with {}: {}", named(*conflicts[0].first),
                       conflicts[0].second.paths()[0]);
  std::string text = fmt::format("Apply failed with {} conflicts: ", count);
  for (const auto& [manager, fields] : conflicts) {
    if (&manager != &conflicts.front().first) text += '\n';
    text += fmt::format("conflicts with {}:", named(*manager));
    for (const std::string& path : fields.paths()) text += "\n- " + path;
  }
  return text;
}

std::vector<kube::ApiFailure::Cause> conflict_causes(
    const std::vector<std::pair<const Manager*, FieldSet>>& conflicts) {
  std::vector<kube::ApiFailure::Cause> causes;
  for (const auto& [manager, fields] : conflicts)
    for (const std::string& path : fields.paths()) causes.push_back({"FieldManagerConflict", path});
  return causes;
}

}  // namespace mist::testing
