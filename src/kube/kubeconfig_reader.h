#pragma once
// One kubeconfig file into a Kubeconfig that may hold entries of earlier files already. Internal to
// kubeconfig.cc. One thread.

#include <string>
#include <string_view>

#include "kube/kubeconfig.h"

namespace mist::kube {

class KubeconfigReader {
 public:
  /// `path` is the file as the user named it.
  KubeconfigReader(const Path& path, Kubeconfig& into);

  /// Invalid, with file, line and column; never with the line itself, which may hold a token.
  Status read(std::string_view text);

 private:
  using Value = encoding::Value;

  template <typename Read>
  Status each_named(const Value& root, std::string_view list, std::string_view inner, Read&& read);
  Status read_cluster(const std::string& name, const Value& named, const Value& cluster);
  Status read_user(const std::string& name, const Value& named, const Value& user);
  Status read_context(const std::string& name, const Value& named, const Value& context);
  Result<ExecEntry> read_exec(const Value& exec, std::string_view user) const;

  Error at(const Value& value, std::string message) const;
  SourceLocation location(const Value& value) const;
  Result<std::string> text(const Value& map, std::string_view field) const;
  Result<bool> flag(const Value& map, std::string_view field) const;
  Result<std::vector<std::string>> texts(const Value& map, std::string_view field) const;
  Result<std::string> decoded(const Value& map, std::string_view field) const;
  Result<Path> path(const Value& map, std::string_view field) const;

  Path directory_;
  std::string file_;
  Kubeconfig& into_;
};

}  // namespace mist::kube
