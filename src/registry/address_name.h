#pragma once
// The name under which mirrors keep what is in no OCI registry: packages of git repositories and catalogs,
// charts of chart repositories, the indexes of all these, and what kustomizations name elsewhere. It is the
// address, without scheme, user and the host's usual port, and the path in it, as the repository of an OCI
// registry. Rules and examples: src/cli/commands/mirror.md. Plain values; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "oci/reference.h"

namespace mist::registry {

struct AddressName {
  oci::Repository repository;  ///< "oci://git.example/team/packages.git/web"
  /// The original that it stands for: "git.example/team/packages.git//web". Two of these may have one
  /// repository
  /// ("…/a.git//b" and "…/a.git/b"), so copies say which they are of.
  std::string original;

  /// `address`: as git or a chart repository is named, may carry credentials, which are left out; `path`:
  /// below it, may be empty. Nothing: it is on this machine, or no OCI repository can have that name.
  static std::optional<AddressName> of(std::string_view address, std::string_view path = {});
};

/// How the contents of a git repository are read at a ref.
enum class CopyOf : std::uint8_t {
  Package,   ///< a package of its own: "ref-v1"
  Base,      ///< a kustomization that another one names: "base-v1"
  BareBase,  ///< the same, without submodules: "bare-v1"
};

/// The tag of a copy of a git repository at `ref` (empty: HEAD). A ref that no tag can be is in it by a part
/// of its SHA-256.
std::string tag_of_ref(CopyOf what, std::string_view ref);
/// The tag of a copy of a registry's index, which is named by the registry's address and the index's file.
inline constexpr std::string_view kIndexCopyTag = "index";
/// The tag of a copy of the file at `url`: by its query, if it has one.
std::string tag_of_file(std::string_view url);

}  // namespace mist::registry
