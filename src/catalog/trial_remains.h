#pragma once
// Removes tests from the cluster: the own one when it ends, and those that ended without: their worker died,
// and nobody may take up their job again. A release's objects in the namespace of its test go with that;
// those elsewhere are found by its record, and where packages damaged that, by its labels. The namespace goes
// last: as long as it is there, a later test looks for what is left. Blocking; one thread.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "action/environment.h"

namespace mist::catalog {

// On the namespaces of tests.
inline constexpr std::string_view kInstanceLabel = "mistletoe.dev/catalog";
/// When the test in it is over for sure: another worker may give tests less time.
inline constexpr std::string_view kUntilAnnotation = "mistletoe.dev/catalog-test-until";
/// The package, and so the name of its release: Pods may have changed the record that would tell.
inline constexpr std::string_view kPackageAnnotation = "mistletoe.dev/catalog-test-of";

/// For one request, and what is like one.
inline constexpr Duration kProbe = std::chrono::seconds(30);

struct TrialTimes {
  Duration timeout;  ///< of each wait
  Duration longest;  ///< of all steps but the removal

  Duration uninstall() const { return 2 * timeout; }
  /// That of the uninstall which is tested, and of three that are ours: another one, a look for what it left,
  /// and the namespace.
  Duration removal() const { return uninstall() + 3 * timeout; }
  Duration longest_life() const { return longest + removal(); }
};

Result<kube::ObjectRef> namespace_ref(kube::Client& client, const std::string& name, const Context& context);

class TrialRemains {
 public:
  struct Dependencies {
    const action::Environment& environment;  ///< outlives it
    std::string instance;                    ///< of the catalog
    TrialTimes times;
    std::function<void(const std::string&)> warn;  ///< of what stays on the cluster
  };

  explicit TrialRemains(Dependencies dependencies) : dependencies_(std::move(dependencies)) {}

  /// After the own test, whatever became of its uninstall. An error was warned of.
  Status clear_up(const release::ReleaseId& id, const std::string& namespace_uid, const Context& context);
  /// Of an earlier attempt, if it left its namespace. LockHeld: somebody else removes it now.
  Status remove_attempt(const release::ReleaseId& left, const Context& context);
  /// Some of the dead tests, another choice for each `job`, but not `own_namespace`. A failure is nobody's,
  /// and warned of: the next test tries.
  void remove_abandoned(const std::string& own_namespace, std::int64_t job, const Context& context);

  bool is_older_than_any_test(const encoding::Value& ns) const;

 private:
  // As action::uninstall_trial, without hooks.
  Status uninstall(const release::ReleaseId& id, const Context& context);
  Status clear_up_whole(const release::ReleaseId& id, const std::string& namespace_uid,
                        const Context& context);
  Result<std::vector<encoding::Value>> abandoned_namespaces(const std::string& own_namespace,
                                                            const Context& context);
  Status remove_test(const encoding::Value& ns, const Context& context);
  Result<std::vector<release::ReleaseId>> releases_in(const encoding::Value& ns, const Context& context);
  Status remove_what_stays(const std::vector<release::ReleaseId>& releases, const Context& context);
  Status delete_namespace(const std::string& name, const std::string& uid, const Context& context);
  Status remove_namespace(const std::string& name, const std::string& uid, const Context& context);
  void warn_that_stays(const std::string& ns, const Error& why);
  Duration look_time() const;
  kube::Client& client() { return dependencies_.environment.client; }

  const Dependencies dependencies_;
};

}  // namespace mist::catalog
