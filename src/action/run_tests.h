#pragma once
// Running the tests of a release: the objects that its deployed revision recorded with the annotation
// mistletoe.dev/test. Pods and Jobs are the tests, one after another in the package's order; other objects
// are what they need, applied before all of them. The release isn't locked and no revision made, but one run
// of a release's tests goes on at a time, by a lock of their own. A run removes the objects that it creates;
// those that a killed run left are removed by the next one and by uninstall. Blocking; any thread.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "action/environment.h"
#include "apply/wait/pod_logs.h"
#include "base/diagnosis.h"

namespace mist::action {

struct TestOptions {
  Duration timeout = std::chrono::minutes(5);  ///< of each test without mistletoe.dev/timeout
  std::string filter = {};                     ///< a pattern of names with * and ?; empty: all
  bool keep = false;                           ///< leave everything for a look
};

enum class TestOutcome : std::uint8_t {
  Passed,
  Failed,
  Skipped,  ///< the run ended before its turn
};
std::string_view to_string(TestOutcome outcome);  ///< "passed", "failed", "skipped"

struct TestResult {
  apimachinery::ObjectKey key;
  TestOutcome outcome = TestOutcome::Skipped;
  std::string message = {};  ///< why it failed or was skipped
  Duration elapsed{};
  std::vector<apply::ContainerLog> logs = {};
  std::shared_ptr<const Diagnosis> diagnosis = {};  ///< of failures that have a cause in the cluster
};

struct TestReport {
  release::ReleaseId id;
  int revision = 0;
  std::vector<TestResult> tests;
  std::vector<std::string> kept;  ///< what was left, because that was asked for or because deleting failed

  std::size_t count(TestOutcome outcome) const;
};

/// Told of each test when it is over, on the calling thread.
using OnTestResult = std::function<void(const TestResult&)>;

/// A failed test is a result, not an error. A report without tests: the release has none. NotFound: no such
/// release, or no test's name fits the filter; Conflict: nothing is deployed, an object that isn't a test's
/// has the name of one, or somebody else is running the tests (see Environment::lock_wait); Cancelled, after
/// cleaning up. Other errors: those of applying what the tests need.
Result<TestReport> run_tests(const Environment& environment, const release::ReleaseId& id,
                             const TestOptions& options, const OnTestResult& on_result,
                             const Context& context);

/// Removes what runs of tests of this release left; asks nothing of the cluster if its record holds no tests.
/// Only with the context of a lock.
Status remove_test_leftovers(const Environment& environment, const ReleaseState& state,
                             const Context& context);

}  // namespace mist::action
