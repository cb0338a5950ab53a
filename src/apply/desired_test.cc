#include "apply/desired.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/yaml.h"

namespace mist::apply {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const release::ReleaseId kRelease{"shop", "web"};

release::RenderedObject job(std::string_view name, std::string_view events) {
  const auto value = encoding::parse_yaml(fmt::format(
      "{{apiVersion: batch/v1, kind: Job, metadata: {{name: {}, annotations: {{helm.sh/hook: '{}'}}}}}}",
      name, events));
  return {*apimachinery::Object::from_value(*value), "web/templates/hooks.yaml", 1};
}
release::RenderedObject plain_job(std::string_view name) {
  const auto value =
      encoding::parse_yaml(fmt::format("{{apiVersion: batch/v1, kind: Job, metadata: {{name: {}}}}}", name));
  return {*apimachinery::Object::from_value(*value), "web/templates/all.yaml", 1};
}

// "a (pre-install hook, weight 0)", or why it is refused.
std::vector<std::string> wanted(const std::vector<release::RenderedObject>& hooks, HookVerb verb) {
  const auto prepared = prepare_with_hooks_offline({plain_job("main")}, hooks, verb, kRelease);
  if (!prepared.ok()) return {prepared.error().message};
  std::vector<std::string> lines;
  for (const DesiredObject& each : prepared->desired)
    lines.push_back(each.hook ? fmt::format("{} ({})", each.key.display(), each.hook->words)
                              : each.key.display());
  return lines;
}

TEST(PrepareWithHooksOffline, HasTheHooksOfOneMoment) {
  const std::vector hooks{job("check", "pre-install"), job("check", "pre-upgrade"),
                          job("last", "post-install")};
  EXPECT_THAT(wanted(hooks, HookVerb::Install),
              ElementsAre("Job shop/check (pre-install hook, weight 0)", "Job shop/main",
                          "Job shop/last (post-install hook, weight 0)"));
  EXPECT_THAT(wanted(hooks, HookVerb::Upgrade),
              ElementsAre("Job shop/check (pre-upgrade hook, weight 0)", "Job shop/main"));
  EXPECT_THAT(wanted(hooks, HookVerb::None), ElementsAre("Job shop/main"));
}

TEST(PrepareWithHooksOffline, OnlyWhatIsOverMayHaveTheNameOfAnother) {
  EXPECT_THAT(wanted({job("main", "pre-install")}, HookVerb::Install),
              ElementsAre("Job shop/main (pre-install hook, weight 0)", "Job shop/main"));
  EXPECT_THAT(wanted({job("main", "post-install")}, HookVerb::Install),
              ElementsAre(HasSubstr("Job shop/main is there twice")));
  EXPECT_THAT(wanted({job("a", "pre-install"), job("a", "pre-install")}, HookVerb::Install),
              ElementsAre(HasSubstr("Job shop/a is there twice")));
}

}  // namespace
}  // namespace mist::apply
