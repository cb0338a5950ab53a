#pragma once
// The signers by which the record of a release knows its packages, and by which a machine does. Plain values.

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace mist::registry {

/// Signers as trust::Memory has them, none of them empty, by package: "oci://registry.example/team/shop".
using RecordedSigners = std::map<std::string, std::set<std::string>>;

/// The signers of a package, of those by which it is known on this machine (trust::Memory).
struct UsedSigners {
  std::set<std::string> signers;
  bool verified = false;  ///< somebody verified them here: they count for more than a record
};

/// A hint for what isn't signed as the record says.
inline constexpr std::string_view kHowToChangeSigners =
    "ask whoever publishes it, by another way than the registry; to take the new signer from now on: mistctl "
    "verify PACKAGE --accept-changed, or name the release's package once by its digest";

}  // namespace mist::registry
