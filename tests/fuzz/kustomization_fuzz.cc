// A tree of files with kustomizations, as a repository may hold it: PATH, a newline, the content,
// "\n--8<--\n". What is taken is below the top, and each file once.
#include "registry/kustomization.h"

#include <map>

#include "registry/reference.h"
#include "targets.h"

namespace mist::fuzz {
namespace {

class Repository final : public registry::KustomizationSource {
 public:
  std::map<std::string, std::string> files;

  bool is_file(const std::string& path) const override { return files.contains(path); }
  bool is_directory(const std::string& path) const override {
    if (path.empty()) return true;
    const auto next = files.lower_bound(path + "/");
    return next != files.end() && next->first.starts_with(path + "/");
  }
  Status check_directory(const std::string&) const override { return {}; }
  Result<std::vector<std::string>> read(const std::vector<registry::NamedFile>& wanted) const override {
    std::vector<std::string> contents;
    for (const registry::NamedFile& each : wanted) {
      const auto found = files.find(each.path);
      if (found == files.end()) fail("a file that isn't there", each.path);
      contents.push_back(found->second);
    }
    return contents;
  }
  Result<std::vector<registry::PackageFile>> read_all(const std::string& directory) const override {
    std::vector<registry::PackageFile> all;
    for (const auto& [path, bytes] : files)
      if (path.starts_with(directory + "/")) all.push_back({path, bytes});
    return all;
  }
  std::string top() const override { return "the fuzzer"; }
};

}  // namespace

void kustomization(std::string_view bytes) {
  using namespace registry;
  Repository source;
  Input input(bytes);
  while (!input.empty() && source.files.size() < 20) {
    const std::string path(input.line());
    const std::string_view content = input.until("\n--8<--\n");
    // A tree of git, or of a file system, holds nothing else.
    if (path_objection(path).empty() && !source.is_directory(path)) source.files[path] = content;
  }
  for (const TreeTop top : {TreeTop::Common, TreeTop::Source}) {
    const auto tree = read_kustomization(source, "", top);
    if (!tree.ok()) {
      check_error(tree.error());
      continue;
    }
    for (const PackageFile& file : tree->files)
      if (!path_objection(file.path).empty()) fail("a file elsewhere", file.path);
    if (!PackageTree::decode(tree->encode()).ok()) fail("a tree that isn't one", tree->encode());
  }
}

}  // namespace mist::fuzz
