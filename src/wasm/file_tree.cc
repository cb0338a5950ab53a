#include "wasm/file_tree.h"

#include <algorithm>

#include "base/text.h"

namespace mist::wasm {
namespace {

bool is_bad_part(std::string_view part) {
  return part.empty() || part == "." || part == ".." || part.find('\0') != std::string_view::npos;
}

}  // namespace

Result<FileTree> FileTree::make(std::map<std::string, std::string> files) {
  FileTree tree;
  tree.nodes_.push_back({.name = "", .is_directory = true, .content = "", .children = {}});
  const auto add = [&tree](NodeId parent, std::string_view name, bool is_directory) {
    const auto id = static_cast<NodeId>(tree.nodes_.size());
    tree.nodes_.push_back({.name = std::string(name),
                           .is_directory = is_directory,
                           .content = "",
                           .children = {},
                           .parent = parent});
    tree.nodes_[parent].children.push_back(id);
    return id;
  };

  for (auto& [path, content] : files) {
    const std::vector<std::string_view> parts = split(path, '/');
    if (std::ranges::any_of(parts, is_bad_part))
      return error(ErrorKind::Invalid, "\"{}\" can't be the path of a file inside a package",
                   escape_controls(path))
          .with_hint("paths are relative and have no empty, \".\" or \"..\" part");
    NodeId directory = kRoot;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const bool last = i + 1 == parts.size();
      // The map is sorted, but not by parts ("a-b" comes between "a" and "a/b"), so any child may be the one.
      const auto& children = tree.nodes_[directory].children;
      const auto found = std::ranges::find(
          children, parts[i], [&](NodeId id) -> const std::string& { return tree.nodes_[id].name; });
      if (found == children.end()) {
        directory = add(directory, parts[i], !last);
      } else if (last || !tree.nodes_[*found].is_directory) {
        return error(ErrorKind::Invalid, "the package holds \"{}\" as a file and as a directory",
                     escape_controls(path));
      } else {
        directory = *found;
      }
    }
    tree.nodes_[directory].content = std::move(content);
  }
  for (Node& node : tree.nodes_)
    std::ranges::sort(node.children, {},
                      [&](NodeId id) -> const std::string& { return tree.nodes_[id].name; });
  return tree;
}

const FileTree::NodeId* FileTree::child(NodeId directory, std::string_view name) const {
  const auto& children = nodes_[directory].children;
  const auto found = std::ranges::lower_bound(children, name, {},
                                              [&](NodeId id) -> std::string_view { return nodes_[id].name; });
  return found != children.end() && nodes_[*found].name == name ? &*found : nullptr;
}

}  // namespace mist::wasm
