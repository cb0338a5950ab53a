#pragma once
// The managers of the fields of a live object, by its managed fields: for drift. Pure; any thread.

#include <string>
#include <string_view>
#include <vector>

#include "encoding/value.h"

namespace mist::apply {

using encoding::Value;

/// A field that somebody other than us owns, at the granularity of managedFields: a leaf, or a list or map
/// that is owned as a whole.
struct ForeignField {
  std::string path;         ///< as in FieldDifference
  Value live;               ///< null: it isn't there
  std::string manager;      ///< "kubectl-edit"
  std::string operation;    ///< "Apply" or "Update"
  std::string subresource;  ///< through which it was written: "scale"; empty: none
  std::string time;         ///< RFC 3339, of the manager's last change of any field; empty: unknown
  bool wanted = false;      ///< we want a value there too
  bool shared = false;      ///< we own it too, or want it as it is
};

/// Of all managers but `manager`'s Apply; without status. In the order of managedFields.
std::vector<ForeignField> foreign_fields(const Value& desired, const Value& live, std::string_view manager);

/// The fields of a live object that `manager` applied, with its identity; null if it applied nothing. A field
/// that others set since has their value.
Value applied_fields(const Value& live, std::string_view manager);

/// Whether one of two paths is the other, or lies inside of it.
bool paths_touch(std::string_view a, std::string_view b);

/// Managers of the cluster itself (controllers, kubelets): what they set is their work, and nobody's edit.
bool is_cluster_manager(std::string_view manager);

}  // namespace mist::apply
