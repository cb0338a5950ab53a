#pragma once
// The start of tests of actions: a cluster in memory, one release in it, packages as the YAML that they
// render, and the verbs as one calls them. For fixtures; a test that needs more of a verb calls it itself.

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "action/deploy/deploy.h"
#include "action/recover/rollback.h"
#include "action/uninstall.h"
#include "package/objects.h"
#include "testing/fake_cluster.h"
#include "testing/stopped_boot_clock.h"

namespace mist::testing {

/// ConfigMaps one (a: "1") and two (b: "2").
inline constexpr std::string_view kTwoConfigMaps = R"(
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
data: {a: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two}
data: {b: "2"}
)";

class ReleaseFixture : public ::testing::Test {
 protected:
  action::Environment environment() { return {client(), clock, random, events, "tester"}; }
  /// Through whom the actions see the cluster.
  virtual kube::Client& client() { return cluster; }

  /// A package that renders `yaml`, whatever it is asked.
  action::Render rendering(std::string yaml,
                           release::PackageInfo package = {"test:1", "test", "1", "sha256:1"},
                           encoding::Value values = encoding::Value::object()) {
    return [this, yaml = std::move(yaml), package = std::move(package),
            values = std::move(values)](const action::ReleaseState&) -> Result<action::RenderedRelease> {
      ++renders;
      MIST_TRY(auto objects, package::parse_objects({{"all.yaml", yaml}}, events));
      return action::RenderedRelease{
          .package = package, .user_values = values, .objects = std::move(objects)};
    };
  }

  Result<action::DeployReport> install_now(std::string yaml, const action::DeployOptions& options = {}) {
    return deploy(environment(), id, action::install_intent(rendering(std::move(yaml))), options, context);
  }
  Result<action::DeployReport> upgrade_now(std::string yaml, const action::DeployOptions& options = {}) {
    return deploy(environment(), id, action::upgrade_intent(rendering(std::move(yaml))), options, context);
  }
  Result<action::DeployReport> rollback_now(std::optional<int> to = {},
                                            const action::DeployOptions& options = {}) {
    const action::Environment here = environment();
    return deploy(here, id, action::rollback_intent(here, to, context), options, context);
  }
  Result<action::UninstallReport> uninstall_now(const action::UninstallOptions& options = {}) {
    MIST_TRY(action::UninstallPlan plan, plan_uninstall(environment(), id, options, context));
    return uninstall(environment(), std::move(plan), options, context);
  }
  action::ReleaseState now() { return *read_release(environment(), id, context); }

  FakeCluster cluster;
  SystemClock clock;
  StoppedBootClock no_expiry;  ///< for runs with a short term, whose successor waits for it
  SystemRandom random;
  NullEventSink events;
  release::ReleaseId id{"default", "web"};
  Context context;  ///< of the actions above
  int renders = 0;  ///< how often rendering() was asked
};

}  // namespace mist::testing
