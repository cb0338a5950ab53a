#pragma once
// Which files a Kustomize directory consists of. Its bases may lie anywhere around it, and a file counts if a
// kustomization names it, hidden or not. So it isn't the tree of one directory: its kustomizations are read,
// and every file that one of them names below its own directory is taken, and every directory that one names
// as a base, a component or a generator, with its kustomization, and so on, and every file of each Helm chart
// that it has beside it. These are all the files that kustomize would read, so a digest of them changes
// exactly when something did that can matter.
//
// Nothing is interpreted: any text in a kustomization that is the path of a file counts as its name. The
// engine, in its sandbox, says whether the kustomization makes sense (engines/kustomize).
//
// Pure functions over a KustomizationSource; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "base/result.h"
#include "registry/package_files.h"

namespace mist::registry {

/// The engine's options inside of a package: `{"root": DIRECTORY}`, where the kustomization to build isn't at
/// the top.
inline constexpr std::string_view kKustomizeOptions = ".mistletoe/kustomize.json";

/// A file below the top, and the directory whose kustomization names it.
struct NamedFile {
  std::string path;
  std::string directory;
};

/// The tree that kustomizations are read from. Paths are relative to its top and normal; "" is the top.
class KustomizationSource {
 public:
  virtual ~KustomizationSource() = default;
  virtual bool is_file(const std::string& path) const = 0;
  virtual bool is_directory(const std::string& path) const = 0;
  /// Invalid when `directory` is a link to another: paths in it would mean something else.
  virtual Status check_directory(const std::string& directory) const = 0;
  /// Contents, in the order of `files`, none of which is named twice. Invalid when one is a link out of its
  /// directory, or they are together beyond the bounds of a package.
  virtual Result<std::vector<std::string>> read(const std::vector<NamedFile>& files) const = 0;
  /// Every file below a directory, with its path below the top. Errors as read.
  virtual Result<std::vector<PackageFile>> read_all(const std::string& directory) const = 0;
  /// The top, in words for people: "the git work tree /home/me/shop".
  virtual std::string top() const = 0;
  /// A path of it, for people.
  virtual std::string shown(const std::string& path) const { return path; }
};

/// Of a source: the path of what lies in `directory`.
std::string joined(const std::string& directory, std::string_view name);

/// True for the names of the file that makes a directory a kustomization.
bool is_kustomization_file(std::string_view name);

/// True if the directory has a file that makes it a kustomization.
bool has_kustomization(const KustomizationSource& source, const std::string& directory);

/// True if the directory is rendered by Kustomize: it has such a file, and neither a Chart.yaml nor a
/// mistletoe.yaml which says that it is something else.
Result<bool> is_kustomization(const KustomizationSource& source, const std::string& directory);

/// Whether `engine` renders kustomizations as such; empty: the files decide. Any other engine takes all files
/// of the directory.
inline bool may_be_kustomize(std::string_view engine) { return engine.empty() || engine == "kustomize"; }

/// Where the paths of a tree begin.
enum class TreeTop : std::uint8_t {
  Common,  ///< at the deepest directory that holds all of it; kKustomizeOptions says where the root is there,
           ///< and a mistletoe.yaml of the root comes to the top
  Source,  ///< at the top of the source
};

/// The kustomization in `root` with all it needs. Errors: Invalid (a base outside of the source or without a
/// kustomization, a file outside of its kustomization's directory; each with the line that names it), of the
/// source.
Result<PackageTree> read_kustomization(const KustomizationSource& source, const std::string& root,
                                       TreeTop top = TreeTop::Common);

/// A directory on this machine. In a git work tree, bases outside of it are refused. Elsewhere they may lie
/// anywhere, as with kustomize: only a directory that is a kustomization can be one, and of it only the files
/// that its own kustomization names are read. Nothing for a directory that isn't a kustomization. Errors as
/// read_kustomization.
Result<std::optional<PackageTree>> read_local_kustomization(const FileSystem& files, const Path& directory);

}  // namespace mist::registry
