#include "apimachinery/pod_security.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fs.h"
#include "encoding/json.h"
#include "encoding/yaml.h"
#include "testing/source_dir.h"

namespace mist::apimachinery {
namespace {

using encoding::Value;
using ::testing::IsEmpty;

void replace_members(Value& object, const Value* members) {
  if (members == nullptr) return;
  for (const Value::Member& each : members->as_object()) object.set(each.key, each.value);
}

// tests/e2e/test_pod_security.py asks a real API server about the same Pods.
TEST(PodSecurity, IsThatOfKubernetes) {
  const auto text =
      HostFileSystem().read(testing::source_dir() / "tests/conformance/pod-security/cases.json");
  ASSERT_TRUE(text.ok()) << text.error().to_line();
  const Value document = *encoding::parse_json(*text);
  const Value& base = *document.find("base");
  std::size_t count = 0;
  for (const Value& each : document.find("cases")->as_array()) {
    Value spec = *base.find("pod"), container = *base.find("container");
    replace_members(spec, each.find("pod"));
    replace_members(container, each.find("container"));
    spec.set("containers", Value::array({container}));
    const auto faults = pod_security_faults(Value::object({{"spec", spec}}));
    std::string why;
    for (const PodSecurityFault& fault : faults)
      why += fmt::format("{} {}: {}\n", to_string(fault.needs), fault.place, fault.what);
    EXPECT_EQ(to_string(level_of(faults)), each.string_at("level")) << each.string_at("name") << "\n" << why;
    ++count;
  }
  EXPECT_GT(count, 40U);
}

TEST(PodSecurity, SaysWhatAndWhere) {
  const Value pod = *encoding::parse_yaml(
      "spec:\n  containers:\n  - name: web\n    securityContext:\n      privileged: true\n");
  const auto faults = pod_security_faults(pod);
  ASSERT_FALSE(faults.empty());
  EXPECT_EQ(faults[0].place, "container web");
  EXPECT_EQ(faults[0].what, "securityContext.privileged is true");
  EXPECT_EQ(faults[0].position.line, 5U);
}

TEST(PodSecurity, OfAnyValueNothingBreaks) {
  for (const char* text :
       {"null", "3", "{spec: 3}", "{spec: {containers: 4}}", "{spec: {containers: [null, 3, {name: 4}]}}",
        "{spec: {containers: [{securityContext: [], ports: {}, livenessProbe: {httpGet: 3}}], volumes: [3, "
        "null]}}",
        "{metadata: {annotations: [1]}, spec: {securityContext: {sysctls: [null]}}}"})
    pod_security_faults(*encoding::parse_yaml(text));
  EXPECT_THAT(pod_security_faults(Value::object()), IsEmpty());
}

}  // namespace
}  // namespace mist::apimachinery
