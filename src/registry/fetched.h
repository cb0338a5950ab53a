#pragma once
// The packages, bases and verdicts that Registries gives out. Plain values.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "crypto/digest.h"
#include "registry/git_url.h"
#include "registry/package_files.h"
#include "registry/reference.h"
#include "trust/proof.h"

namespace mist::registry {

/// One package, read.
struct Fetched {
  PackageContent content;
  crypto::Digest digest;  ///< of content
  PackageRef resolved;    ///< the reference that gives these bytes again; local paths absolute
  std::string origin;     ///< for people: "https://host/r.git at 1a2b3c4d5e6f, a/b/b-0.1.2.mist-pack.wasm"
};

/// Whether a version is known from now on by the bytes that were read, and its package by their signers.
/// False: they are given out all the same, and nothing of them is remembered. An empty function means yes.
using MayKeep = std::function<Result<bool>(const Fetched&)>;

/// `changed bytes under a known version`: refuse them, take the new ones from now on, or take them once,
/// where the reference names them by their digest; others who name the version alone still hear of the change
/// then.
enum class ChangedVersions { Refuse, Accept, Once };

/// The base that a kustomization names in another repository.
struct BaseReference {
  std::string url;
  std::string ref;   ///< empty: HEAD
  std::string path;  ///< of the directory
  bool submodules = true;
  std::optional<crypto::Digest> digest = {};  ///< of its tree, where a lock has it
  /// Which servers it and its submodules may be on. A server that isn't trusted must be public
  /// (GitUrl::limited_to_public), and redirects are followed to none.
  struct Judge {
    std::function<bool(const GitUrl&)> trusts = {};  ///< empty: all, and git follows redirects as ever
    std::string hint = {};                           ///< of the Forbidden error for an untrusted host
  };
  Judge judge = {};
};

/// That, with all it needs.
struct FetchedBase {
  PackageTree tree;              ///< paths as in the repository
  crypto::Digest digest;         ///< of tree
  std::string commit;            ///< of the repository, in full
  bool on_this_machine = false;  ///< so is every repository that a file of it comes from
};

/// Whether a keyring signed a chart.
struct ChartVerdict {
  std::vector<trust::Proof> proofs;
  Status judged;  ///< Forbidden: it didn't, or there is no signature; says where that was looked for
};
struct VerifiedPackage {
  Fetched package;
  ChartVerdict verdict;
};

}  // namespace mist::registry
