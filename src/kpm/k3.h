#pragma once
// K3.yaml: what a Kube (a package of the Kubernetes Package Manager) says of itself. The form is that of the
// document "Kubernetes Package Manager (KPM), Version 1". Pure; any thread.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "encoding/semver.h"

namespace mist::kpm {

inline constexpr std::string_view kMetadataFile = "K3.yaml";

struct Dependency {
  std::string name;
  encoding::SemVerRange range;
  std::string repo = {};  ///< where its author found it: which of several archives
};

struct K3 {
  std::string name;  ///< a DNS-1123 label
  encoding::SemVer version;
  std::string home = {};
  std::string description = {};  ///< one line
  std::string details = {};
  std::vector<std::string> maintainers = {};  ///< "Name <email>", as in both spellings
  std::vector<Dependency> dependencies = {};

  std::string full_name() const { return name + '-' + version.to_string(); }
};

/// The order in which versions are chosen where nobody names one: a release before every prerelease, then the
/// newer.
bool is_preferred(const encoding::SemVer& version, const encoding::SemVer& over);

/// A K3.yaml that parse_k3 reads as the same. For packages that have none: modules.
std::string k3_text(const K3& k3);

/// The detail of an error of parse_k3: its faults, if there are several.
struct K3Faults {
  std::vector<Error> all;
};

/// The detail of an error about a Kube of an archive that can't be read: which Kube.
struct BrokenKube {
  std::string archive;
  std::string name;
  std::string version = {};  ///< empty: its place doesn't say
};

/// Everything that is wrong with it, each with `file`, line and column, in the order of the lines; of very
/// many the first hundred. Empty: parse_k3 reads it. Text that is no YAML has one fault.
std::vector<Error> k3_faults(std::string_view text, const std::string& file);

/// Strict: an unknown or repeated member is an error. Errors: Invalid, with `file` and the line; of several
/// faults at the place of the first, and `because` names each with its place.
Result<K3> parse_k3(std::string_view text, const std::string& file);

}  // namespace mist::kpm
