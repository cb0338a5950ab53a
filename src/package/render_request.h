#pragma once
// A request to render a package: names, values, seed and clock, and answers to what the package asks. Plain
// values; any thread.

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/secret.h"
#include "crypto/random_stream.h"
#include "encoding/value.h"
#include "package/lookup_pattern.h"
#include "package/pre_install.h"
#include "package/secrets.h"

namespace mist::package {

struct Capabilities {
  std::string kube_version;               ///< "v1.36.3"
  std::vector<std::string> api_versions;  ///< "v1", "apps/v1", …
  bool assumed = false;                   ///< no cluster was asked: engines use what their peers assume
  std::vector<std::string> kinds = {};    ///< "v1/Pod", "apps/v1/Deployment", …; only charts are told
};

/// The most of what a render may use of what it shares with others, within its own limits.
struct Share {
  Duration guest_time = Duration::max();
  std::uint64_t memory_bytes = std::numeric_limits<std::uint64_t>::max();
};

class CallTree;

/// How a package came to be rendered that isn't the release's own.
struct CalledAs {
  std::string id;
  std::string install;            ///< its data.name
  std::vector<std::string> path;  ///< names, from the release's package to this one
  crypto::Seed release_seed{};    ///< RenderRequest::seed is its own, derived from this one
  std::shared_ptr<CallTree> tree;
};

struct RenderRequest {
  std::string release_name;
  std::string release_namespace;
  Value user_values;  ///< an object
  crypto::Seed seed{};
  Rotations rotations = {};  ///< of secrets
  /// The charts of a kustomization draw from the package's own seed, as those of a release that was made
  /// before each had one (docs/internals/secret-derivation.md): any other seed changes its passwords.
  bool charts_share_seed = false;
  WallTime clock{};
  bool quiet = false;  ///< what the guest logs isn't shown
  bool often = false;  ///< the same files are rendered again and again: what an engine makes of them is kept
  int revision = 0;
  bool is_upgrade = false;
  std::map<std::string, SecretString> hidden = {};  ///< printed by nobody, beside what the package draws
  /// For engines, as their README says; an object.
  Value engine_options = Value::object();
  /// Answers what packages look up in the cluster; null: that is an error.
  Lookup lookup = nullptr;
  std::optional<CalledAs> called = {};  ///< nullopt: the release's own package
  Share share = {};                     ///< of a chart that a kustomization names
  /// Questions of a Kube's script are asked although they have a default: a person is there to answer.
  bool interactive = false;
  /// Runs a Kube's script that the sandbox can't run; null: that is an error.
  RunOnHost run_on_host = nullptr;
  /// Asked only for packages whose ABI is given it.
  std::function<Result<Capabilities>()> capabilities;
};

}  // namespace mist::package
