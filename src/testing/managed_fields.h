#pragma once
// metadata.managedFields: who owns which fields of an object, read from it and written back. Pure functions;
// any thread.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/api_failure.h"
#include "testing/field_set.h"

namespace mist::testing {

struct Manager {
  std::string name;
  std::string operation;  ///< "Apply" or "Update"
  std::string api_version;
  std::string time;
  std::string subresource;
  FieldSet fields;
};

std::vector<Manager> managers_of(const Value& object);
/// Managers without fields are left out.
void set_managers(Value& object, const std::vector<Manager>& managers);
/// The entry of that manager, added if missing.
Manager& manager_named(std::vector<Manager>& managers, std::string_view name, std::string_view operation,
                       std::string_view subresource);

/// After a write that isn't an apply: what it wrote becomes the writer's, what it removed is nobody's. The
/// entries start from those of `before` and are stored in `after`.
void take_ownership(const Value& before, Value& after, const std::string& writer,
                    std::string_view subresource, const std::string& time);

/// The message of the server's 409: "Apply failed with 1 conflict: conflict with …".
std::string conflict_words(const std::vector<std::pair<const Manager*, FieldSet>>& conflicts);
/// Its causes, one for each field.
std::vector<kube::ApiFailure::Cause> conflict_causes(
    const std::vector<std::pair<const Manager*, FieldSet>>& conflicts);

}  // namespace mist::testing
