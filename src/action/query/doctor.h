#pragma once
// Whether Mistletoe can do its work here: configuration and caches on this machine, registries, and a cluster
// with what releases need there. Everything is looked at, nothing is changed. Blocking; one thread.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/context.h"
#include "base/event.h"
#include "base/fs.h"
#include "base/process.h"
#include "config/paths.h"
#include "kube/client.h"
#include "package/engine.h"
#include "registry/oci_trust.h"

namespace mist::action {

enum class CheckState : std::uint8_t {
  Ok,
  Warn,     ///< works, but not as well as it could, or not for long
  Fail,     ///< something that is needed doesn't work
  Skipped,  ///< not looked at, and why
};
std::string_view to_string(CheckState state);  ///< "ok", "warn", "fail", "skipped"

/// One thing that was looked at.
struct Check {
  std::string area;  ///< "configuration", "sandbox", "registries", "caches", "cluster"
  std::string name;  ///< "the file", "mistletoe", "permissions"
  CheckState state = CheckState::Ok;
  std::string detail;     ///< what was found
  std::string hint = {};  ///< what to do
};

struct DoctorDependencies {
  FileSystem& files;
  ProcessRunner& processes;
  Clock& clock;
  config::Paths paths;
  std::span<const package::EngineDigest> engines = {};  ///< that belong to this program
  trust::CheckProvenance check_provenance = {};         ///< none: keyrings of the trust policy aren't opened
};

enum class Network : bool { Offline, Ask };

/// The configuration file, the trust policy, and the seed of renders outside a cluster.
std::vector<Check> check_configuration(const DoctorDependencies& dependencies);
/// Owner, mode and size of each cache that there is, and the room that is left.
std::vector<Check> check_caches(const DoctorDependencies& dependencies);
/// The sandbox compiles and keeps what it compiled; the engines are where they belong.
std::vector<Check> check_sandbox(const DoctorDependencies& dependencies);
/// git, whether each configured registry answers, and mirrors whose directories or archives aren't there.
std::vector<Check> check_registries(const DoctorDependencies& dependencies, Network network,
                                    const Context& context);
/// Version and latency of the API server, its clock, the release namespace, and whether we may do there what
/// releases need (SelfSubjectAccessReview). `skew`: how far the server's clock is ahead, asked once it has
/// answered; nullopt: it doesn't say.
std::vector<Check> check_cluster(kube::Client& client, Clock& clock,
                                 const std::function<std::optional<Duration>()>& skew,
                                 const Context& context);

}  // namespace mist::action
