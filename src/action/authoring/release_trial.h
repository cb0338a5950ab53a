#pragma once
// The test of a package on a cluster, as catalogs and `kpm test` make it: as a release of a namespace that
// was made for it, it is checked by the server, installed and waited for, its tests run, it is upgraded from
// the version before, and uninstalled, and nothing may stay. The caller makes the namespace, and removes it
// whatever happens. Blocking; one thread.

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "action/deploy/deploy.h"
#include "action/run_tests.h"
#include "action/uninstall.h"

namespace mist::action {

/// Whether the hooks of a chart run when it is uninstalled.
enum class UninstallHooks : std::uint8_t { Run, Skipped };

/// The detail of an error of uninstalling: it went well, and left objects.
struct LeftObjects {};

/// Everything that the release has, claims and CRDs too, but for what the package keeps: Invalid then, with
/// LeftObjects. `timeout`: of each wait. There being no release is fine.
Status uninstall_trial(const Environment& environment, const release::ReleaseId& id, UninstallHooks hooks,
                       apply::PruneRules rules, Duration timeout, const Context& context);

/// The detail of an error of ReleaseTrial::upgrade: the version before can't be installed, which isn't the
/// fault of the new one.
struct PreviousNotInstalled {};

class ReleaseTrial {
 public:
  struct Options {
    Duration timeout = std::chrono::minutes(5);  ///< of each wait
    /// A namespace that the package makes goes with all that others put there meanwhile.
    bool deletes_namespaces = false;
    std::function<void(std::string_view)> say = [](std::string_view) {};  ///< what happens, for a log
  };
  /// A version of the package: how it is rendered.
  struct Version {
    std::string version;
    Render render;
  };

  /// `environment` outlives it.
  ReleaseTrial(const Environment& environment, release::ReleaseId id, Options options)
      : environment_(environment), id_(std::move(id)), options_(std::move(options)) {}

  /// Of each, what it did in a few words: "the API server accepts 3 objects". Errors: those of deploy().
  Result<std::string> dry_run(const Render& render, const Context& context) const;
  Result<std::string> install(const Render& render, const Context& context) const;

  /// "2 tests passed", "it has none". Errors: Invalid, when one failed or was skipped; those of run_tests().
  Result<std::string> test(const OnTestResult& on_result, const Context& context) const;

  /// Uninstalls what is there, installs `before`, and upgrades it. Errors: with PreviousNotInstalled, where
  /// `before` fails; those of deploy() and uninstall_trial().
  Result<std::string> upgrade(const Version& before, const Version& now, const Context& context) const;

  /// Objects of the namespace that aren't the package's: they were there before, and may stay. Of a cluster
  /// on which others put objects into each new namespace.
  Status note_what_is_there(const Context& context);

  /// As its users would. Errors: Invalid, with LeftObjects, naming what stays: in the namespace, and outside
  /// of it of what the release had; those of uninstall_trial().
  Status uninstall(const Context& context) const;

 private:
  Result<DeployReport> deploy(const Intent& intent, DryRun dry, const Context& context) const;
  apply::PruneRules rules() const;
  Result<std::vector<apimachinery::ObjectKey>> objects_outside(const Context& context) const;
  Result<std::vector<std::string>> objects_inside(const Context& context) const;
  Result<std::vector<std::string>> what_stays(const std::vector<apimachinery::ObjectKey>& outside,
                                              const Context& context) const;

  const Environment& environment_;
  const release::ReleaseId id_;
  const Options options_;
  std::set<std::string> there_before_;  // in words
};

}  // namespace mist::action
