#pragma once
// The read-only tree of files that a guest sees at /package. Immutable after `make`, so any number of guests
// and threads may share one.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mist::wasm {

class FileTree {
 public:
  using NodeId = std::uint32_t;
  static constexpr NodeId kRoot = 0;

  struct Node {
    std::string name;
    bool is_directory = false;
    std::string content;           ///< of a file
    std::vector<NodeId> children;  ///< of a directory, sorted by name (bytewise)
    NodeId parent = kRoot;
  };

  /// From relative paths ("templates/a.yaml") to contents; directories follow from the paths. Invalid for a
  /// path that is absolute, has empty, "." or ".." parts or a NUL, or that is both a file and a directory.
  static Result<FileTree> make(std::map<std::string, std::string> files);

  const Node& node(NodeId id) const { return nodes_[id]; }
  /// Null if `directory` has no child of that name.
  const NodeId* child(NodeId directory, std::string_view name) const;

 private:
  FileTree() = default;
  std::vector<Node> nodes_;
};

}  // namespace mist::wasm
