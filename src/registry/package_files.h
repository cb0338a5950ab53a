#pragma once
// The contents of a package: one WebAssembly module, or a tree of files (a chart, plain Kubernetes YAML, a
// Kustomize directory). The tree has a canonical text, so that it has a digest and can be kept as one file:
//
//   mistletoe-tree-v1\n  then for each file, in ascending byte order of paths:
//   <length of path> <length of content>\n<path><content>
//
// Plain values; any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "crypto/digest.h"
#include "wasm/module_bytes.h"

namespace mist::registry {

/// Bounds of one package, whatever it comes from. A larger one is Invalid.
inline constexpr std::uint64_t kMaxPackageBytes = std::uint64_t{64} << 20;
inline constexpr std::size_t kMaxPackageFiles = 10'000;
inline constexpr std::size_t kMaxTreeDepth = 32;

struct PackageFile {
  std::string path;  ///< relative, '/' between segments; path_objection accepts it
  std::string bytes;
  friend bool operator==(const PackageFile&, const PackageFile&) = default;
};

struct PackageTree {
  std::vector<PackageFile> files;  ///< ascending by path, no path twice
  friend bool operator==(const PackageTree&, const PackageTree&) = default;

  std::string encode() const;
  /// Errors: Invalid when `text` isn't exactly what encode gives.
  static Result<PackageTree> decode(std::string_view text);
};

/// A WebAssembly binary.
using PackageModule = wasm::ModuleBytes;

using PackageContent = std::variant<PackageModule, PackageTree>;

/// True for what version control keeps beside the files (a segment .git, .hg, .svn, .bzr): no part of a
/// package.
bool is_bookkeeping(std::string_view path);

/// SHA-256 of the module's bytes, or of the tree's canonical text.
crypto::Digest digest_of(const PackageContent& content);

/// Counts the files of a package as they come, one after the other, against the bounds above. One thread.
class PackageRoom {
 public:
  /// `origin`: the package, in messages.
  explicit PackageRoom(std::string origin) : origin_(std::move(origin)) {}
  /// Counts a file of so many bytes. Errors: Invalid (beyond a bound).
  Status take(std::uint64_t bytes);
  std::uint64_t bytes() const { return bytes_; }
  const std::string& origin() const { return origin_; }

 private:
  std::string origin_;
  std::uint64_t bytes_ = kMaxPackageBytes;
  std::size_t files_ = kMaxPackageFiles;
};

/// Collects files under the bounds above, then sorts them. One thread.
class TreeBuilder {
 public:
  /// Errors: Invalid (a path that path_objection refuses, or beyond a bound); names `origin`.
  explicit TreeBuilder(std::string origin) : room_(std::move(origin)) {}
  Status add(std::string path, std::string bytes);
  /// Bytes that may still be added.
  std::uint64_t room() const { return room_.bytes(); }
  /// Errors: Invalid when there is no file, a path came twice, or one is a file and a directory.
  Result<PackageTree> finish() &&;

 private:
  PackageRoom room_;
  PackageTree tree_;
};

}  // namespace mist::registry
