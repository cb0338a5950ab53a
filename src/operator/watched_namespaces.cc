#include "operator/watched_namespaces.h"

#include <algorithm>

#include "base/text.h"

namespace mist::operator_ {

WatchedNamespaces::WatchedNamespaces(std::vector<std::string> names) : names_(std::move(names)) {
  std::ranges::sort(names_);
  const auto twice = std::ranges::unique(names_);
  names_.erase(twice.begin(), twice.end());
}

bool WatchedNamespaces::has(std::string_view ns) const {
  return are_all() || std::ranges::binary_search(names_, ns);
}

std::string WatchedNamespaces::display() const {
  if (are_all()) return "all namespaces";
  return fmt::format("namespace{} {}", names_.size() == 1 ? "" : "s", join(names_, ", "));
}

Status WatchedNamespaces::check_namespace(std::string_view ns) const {
  if (has(ns)) return {};
  return error(ErrorKind::Forbidden,
               "this operator works only in {} (--watch-namespace), and namespace {} is none of them",
               display(), escape_controls(ns))
      .with_hint("start it with that namespace too, and give it a Role there");
}

Status WatchedNamespaces::check_kind(std::string_view kind, bool namespaced) const {
  if (namespaced || are_all()) return {};
  return error(
             ErrorKind::Forbidden,
             "this operator works only in {} (--watch-namespace), and objects of kind {} are in no namespace",
             display(), escape_controls(kind))
      .with_hint("leave them to an operator without --watch-namespace");
}

}  // namespace mist::operator_
