#pragma once
// The namespaces in which an operator works (`--watch-namespace`): it asks for nothing elsewhere, so Roles in
// them are all the rights that it needs. Immutable; any thread.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mist::operator_ {

class WatchedNamespaces {
 public:
  /// Everywhere.
  WatchedNamespaces() = default;
  /// `names`: empty for everywhere.
  explicit WatchedNamespaces(std::vector<std::string> names);

  bool are_all() const { return names_.empty(); }
  bool has(std::string_view ns) const;
  /// In order, each once; empty: everywhere.
  const std::vector<std::string>& names() const { return names_; }
  /// "namespaces a, b", "namespace a" or "all namespaces".
  std::string display() const;

  /// Forbidden: objects of that namespace are outside.
  Status check_namespace(std::string_view ns) const;
  /// Forbidden: objects of that kind are in no namespace, and the operator doesn't work everywhere.
  Status check_kind(std::string_view kind, bool namespaced) const;

 private:
  std::vector<std::string> names_;
};

}  // namespace mist::operator_
