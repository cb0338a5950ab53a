#include "apply/fields/stored_forms.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "encoding/json.h"
#include "testing/yaml.h"

namespace mist::apply {
namespace {

using testing::yaml;

TEST(StoredForms, RowsLeadFromKindsToForms) {
  std::set<std::string_view> types, used;
  for (const auto& row : stored_forms::rows()) types.insert(row.type);
  const std::set<std::string_view> forms{"Quantity", "Bytes", "Time", "List"};
  for (const auto& kind : stored_forms::kinds()) {
    EXPECT_TRUE(types.contains(kind.kind)) << kind.kind;
    used.insert(kind.kind);
  }
  for (const auto& row : stored_forms::rows()) {
    EXPECT_TRUE(types.contains(row.target) || forms.contains(row.target)) << row.type << "." << row.member;
    used.insert(row.target);
  }
  for (const std::string_view type : types) EXPECT_TRUE(used.contains(type)) << type;
}

std::string without_nulls(std::string_view text) {
  encoding::Value object = yaml(text);
  drop_nulls(object);
  return encoding::to_json(object);
}

TEST(DropNulls, LeavesOutWhatBuiltInTypesCannotHold) {
  EXPECT_EQ(without_nulls("{apiVersion: apps/v1, kind: Deployment, spec: {replicas: null, template: {spec: "
                          "{containers: [{resources: {limits: {cpu: null}}, ports: [{protocol: null}]}]}}}}"),
            R"({"apiVersion":"apps/v1","kind":"Deployment","spec":{"template":{"spec":)"
            R"({"containers":[{"resources":{"limits":{}},"ports":[{}]}]}}}})");
}

TEST(DropNulls, ALackOfRulesIsWanted) {
  constexpr std::string_view kRole = "apiVersion: rbac.authorization.k8s.io/v1, kind";
  EXPECT_EQ(without_nulls(fmt::format("{{{}: Role, rules: null}}", kRole)),
            R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","rules":[]})");
  // The server fills these in.
  EXPECT_EQ(
      without_nulls(fmt::format("{{{}: ClusterRole, aggregationRule: {{a: b}}, rules: []}}", kRole)),
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","aggregationRule":{"a":"b"}})");
}

TEST(DropNulls, CustomResourcesKeepThem) {
  EXPECT_EQ(without_nulls("{apiVersion: x.dev/v1, kind: Role, rules: null}"),
            R"({"apiVersion":"x.dev/v1","kind":"Role","rules":null})");
}

TEST(StoredAs, AQuantityMayLoseItsUnits) {
  const auto same = [](encoding::Value wanted, std::string_view stored) {
    return stored_as(StoredForm::Quantity, wanted, encoding::Value(stored));
  };
  EXPECT_TRUE(same(encoding::Value("0.5Ki"), "512"));
  EXPECT_TRUE(same(encoding::Value("1Ei"), "1Ei"));
  EXPECT_TRUE(same(encoding::Value(0.5), "500m"));
  EXPECT_FALSE(same(encoding::Value("1Gi"), "1073741824"));
}

}  // namespace
}  // namespace mist::apply
