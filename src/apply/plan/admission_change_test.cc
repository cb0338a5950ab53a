#include "apply/plan/admission_change.h"

#include <gtest/gtest.h>

#include "encoding/json.h"

namespace mist::apply {
namespace {

const apimachinery::GroupKind kValidating{"admissionregistration.k8s.io", "ValidatingWebhookConfiguration"};

// The live configuration as the server stores it, owned by us, and what is wanted of it in place of
// `members` of the webhook.
std::vector<FieldDifference> changed(std::string_view webhooks) {
  const Value live = *encoding::parse_json(R"({
    "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "w", "managedFields": [{"manager": "mistctl", "operation": "Apply", "fieldsV1": {
      "f:webhooks": {
        "k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:clientConfig": {"f:url": {}}, "f:rules": {},
                               "f:failurePolicy": {}, "f:namespaceSelector": {}},
        "k:{\"name\":\"b\"}": {".": {}, "f:name": {}, "f:clientConfig": {"f:url": {}}}}}}]},
    "webhooks": [
      {"name": "a", "clientConfig": {"url": "https://a"}, "failurePolicy": "Fail", "matchPolicy": "Equivalent",
       "namespaceSelector": {"matchLabels": {"checked": "yes"}}, "objectSelector": {}, "timeoutSeconds": 10,
       "rules": [{"apiGroups": ["apps"], "resources": ["deployments"], "scope": "*"},
                 {"apiGroups": [""], "resources": ["pods"], "scope": "*"}]},
      {"name": "b", "clientConfig": {"url": "https://b"}, "failurePolicy": "Fail"}]})");
  const Value wanted = Value::object({{"apiVersion", "admissionregistration.k8s.io/v1"},
                                      {"kind", "ValidatingWebhookConfiguration"},
                                      {"metadata", Value::object({{"name", "w"}})},
                                      {"webhooks", *encoding::parse_json(webhooks)}});
  return differences(wanted, live, "mistctl");
}

bool lets_pass(std::string_view webhooks) { return only_lets_pass(kValidating, changed(webhooks)); }

constexpr std::string_view kOther = R"({"name": "b", "clientConfig": {"url": "https://b"}})";
constexpr std::string_view kBothRules =
    R"("rules": [{"apiGroups": ["apps"], "resources": ["deployments"], "scope": "*"},
                 {"apiGroups": [""], "resources": ["pods"], "scope": "*"}])";

std::string webhooks(std::string_view policy, std::string_view selector, std::string_view rules,
                     std::string_view url = "https://a", std::string_view more = kOther) {
  return fmt::format(
      R"([{{"name": "a", "clientConfig": {{"url": "{}"}}, "failurePolicy": "{}", "namespaceSelector": {}, {}}}{}{}])",
      url, policy, selector, rules, more.empty() ? "" : ", ", more);
}

constexpr std::string_view kChecked = R"({"matchLabels": {"checked": "yes"}})";

TEST(AdmissionChange, WhatRefusesLessLetsPass) {
  EXPECT_TRUE(lets_pass(webhooks("Ignore", kChecked, kBothRules)));
  EXPECT_TRUE(lets_pass(webhooks("Fail", kChecked, kBothRules, "https://a", "")));  // b goes
  EXPECT_TRUE(lets_pass(webhooks("Fail", R"({"matchLabels": {"checked": "yes", "own": "no"}})", kBothRules)));
  EXPECT_TRUE(lets_pass(webhooks(
      "Fail",
      R"({"matchLabels": {"checked": "yes"}, "matchExpressions": [{"key": "own", "operator": "DoesNotExist"}]})",
      kBothRules)));
  EXPECT_TRUE(lets_pass(
      webhooks("Fail", kChecked,
               R"("rules": [{"apiGroups": ["apps"], "resources": ["deployments"], "scope": "*"}])")));
  EXPECT_TRUE(lets_pass(
      webhooks("Fail", kChecked,
               std::string(kBothRules) + R"(, "matchConditions": [{"name": "m", "expression": "x"}])")));
}

TEST(AdmissionChange, WhatMayRefuseMoreDoesNot) {
  EXPECT_FALSE(lets_pass(webhooks("Fail", kChecked, kBothRules)));  // no difference
  EXPECT_FALSE(lets_pass(webhooks("Ignore", kChecked, kBothRules, "https://elsewhere")));
  EXPECT_FALSE(lets_pass(webhooks("Ignore", R"({"matchLabels": {"checked": "no"}})", kBothRules)));
  EXPECT_FALSE(lets_pass(webhooks("Ignore", "{}", kBothRules)));
  EXPECT_FALSE(
      lets_pass(webhooks("Ignore", kChecked,
                         R"("rules": [{"apiGroups": ["apps"], "resources": ["deployments"], "scope": "*"},
                   {"apiGroups": [""], "resources": ["secrets"], "scope": "*"}])")));
  EXPECT_FALSE(
      lets_pass(webhooks("Ignore", kChecked, kBothRules, "https://a",
                         std::string(kOther) + R"(, {"name": "c", "clientConfig": {"url": "https://c"}})")));
  EXPECT_FALSE(only_lets_pass({"", "ConfigMap"}, changed(webhooks("Ignore", kChecked, kBothRules))));
}

}  // namespace
}  // namespace mist::apply
