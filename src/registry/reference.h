#pragma once
// PackageRef: what a user writes after `-p`. Grammar and examples: docs/formats/registry.md.
//
//   <registry>/<path>:<version or range>[@sha256:<digest>]     a package of a configured registry
//   git+https://<host>/<repository>[//<path>][?ref=<ref>][@sha256:<digest>]   also git+ssh, git+file
//   oci://<host>/<path>:<version or range>[@sha256:<digest of the manifest>]  (oci/reference.h)
//   ./<path>  ../<path>  /<path>                      files on this machine
//
// Once parsed, a path can't leave its registry: no empty, "." or ".." segment, nothing named like ".git", no
// backslash, no control character. Plain values; any thread.

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/fs.h"
#include "base/result.h"
#include "crypto/digest.h"
#include "oci/reference.h"

namespace mist::registry {

/// An exact version in a registry that is configured under a name.
struct RegistryRef {
  std::string registry;
  std::string path;     ///< "examples/namespace-example", at least one segment
  std::string version;  ///< "0.1.2", or a range that SemVerRange::parse accepts
  std::optional<crypto::Digest> digest;

  std::string name() const { return path.substr(path.rfind('/') + 1); }  ///< last segment of the path
  friend bool operator==(const RegistryRef&, const RegistryRef&) = default;
};

/// A path in any git repository.
struct GitRef {
  std::string url;   ///< without "git+"; may carry credentials
  std::string path;  ///< a file or a directory; empty: the whole repository
  std::string ref;   ///< branch, tag or full commit; empty: the repository's HEAD
  std::optional<crypto::Digest> digest;

  bool names_commit() const;  ///< ref is a full commit, so its content can never change
  friend bool operator==(const GitRef&, const GitRef&) = default;
};

struct LocalRef {
  Path path;  ///< as written; relative to the working directory
  friend bool operator==(const LocalRef&, const LocalRef&) = default;
};

class PackageRef {
 public:
  using Form = std::variant<RegistryRef, GitRef, oci::Reference, LocalRef>;

  /// Errors: Invalid, saying which part is wrong and with the likely intention as hint: `foo.wasm` suggests
  /// `./foo.wasm`, a missing version suggests how to name one, other schemes what works.
  static Result<PackageRef> parse(std::string_view text);

  explicit PackageRef(RegistryRef form) : form_(std::move(form)) {}
  explicit PackageRef(GitRef form) : form_(std::move(form)) {}
  explicit PackageRef(oci::Reference form) : form_(std::move(form)) {}
  explicit PackageRef(LocalRef form) : form_(std::move(form)) {}

  const Form& form() const { return form_; }

  /// `parse` reads it back to an equal reference. May carry credentials of a git URL.
  std::string to_string() const;
  /// For people: as to_string, without credentials.
  std::string display() const;
  /// To be kept in a release's record: as to_string, but whoever reads it back has to get credentials
  /// elsewhere (git's credential helper).
  std::string recorded() const;
  /// The same with a local path made absolute below `directory`, so that it means the same elsewhere.
  PackageRef anchored(const Path& directory) const;

  friend bool operator==(const PackageRef&, const PackageRef&) = default;

 private:
  Form form_;
};

/// A relative path inside a registry or package, '/' between its segments: empty when it may be used, else
/// why not ("it has a segment '..'").
std::string path_objection(std::string_view path);

/// The repository of a package of a registry that is an OCI registry: `path` below `url`, which
/// oci::parse_prefix takes. Errors: Invalid, saying which of the two is wrong.
Result<oci::Repository> repository_below(const std::string& url, std::string_view path);

}  // namespace mist::registry
