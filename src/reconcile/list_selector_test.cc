#include "reconcile/list_selector.h"

#include <gtest/gtest.h>

#include "apimachinery/label_selector.h"
#include "testing/yaml.h"

namespace mist::reconcile {
namespace {

std::string selector_of(std::string_view made) {
  const auto selector = list_selector(testing::yaml(made));
  return selector.ok() ? *selector : "error: " + selector.error().message;
}

TEST(ListSelector, IsTheServersText) {
  EXPECT_EQ(selector_of("kind: Secret"), "");
  EXPECT_EQ(selector_of("{labels: null, selector: {}}"), "");
  EXPECT_EQ(selector_of("labels: {app: shop, example.com/tier: web}"), "app=shop,example.com/tier=web");
  EXPECT_EQ(selector_of(R"(
labels: {app: shop}
selector:
  matchLabels: {tier: web}
  matchExpressions:
  - {key: env, operator: In, values: [prod, test]}
  - {key: zone, operator: NotIn, values: [a]}
  - {key: team, operator: Exists}
  - {key: old, operator: DoesNotExist, values: []}
)"),
            "app=shop,tier=web,env in (prod,test),zone notin (a),team,!old");
}

TEST(ListSelector, SelectsWhatItsExpressionsSay) {
  const std::string selector = selector_of(R"(
selector:
  matchExpressions:
  - {key: env, operator: In, values: ["", prod]}
  - {key: zone, operator: NotIn, values: [a, b]}
  - {key: team, operator: Exists}
  - {key: old, operator: DoesNotExist}
)");
  const auto selects = [&](std::string_view labels) {
    return apimachinery::selects(selector, testing::yaml(fmt::format("metadata: {{labels: {}}}", labels)));
  };
  EXPECT_TRUE(selects("{env: prod, team: x}"));
  EXPECT_TRUE(selects("{env: '', team: '', zone: c}"));
  EXPECT_FALSE(selects("{env: test, team: x}"));
  EXPECT_FALSE(selects("{team: x}")) << "a label that isn't there is in no set";
  EXPECT_FALSE(selects("{env: prod, team: x, zone: b}"));
  EXPECT_FALSE(selects("{env: prod}"));
  EXPECT_FALSE(selects("{env: prod, team: x, old: ''}"));
}

TEST(ListSelector, RefusesWhatWouldSelectSomethingElse) {
  EXPECT_EQ(selector_of("labels: {a: 1}"), "error: its function gives the label a a value that isn't a text");
  EXPECT_EQ(selector_of("labels: {'a,b': c}"),
            "error: its function gives \"a,b\", which can't be the name of a label");
  EXPECT_EQ(selector_of("labels: [a]"), "error: its function gives labels that are no record of texts");
  EXPECT_EQ(selector_of("selector: {matchLabel: {a: b}}"),
            "error: its function gives its selector the field \"matchLabel\", and it has only matchLabels, "
            "matchExpressions");
  const auto of_one = [](std::string_view expression) {
    return selector_of(fmt::format("selector: {{matchExpressions: [{}]}}", expression));
  };
  EXPECT_EQ(
      of_one("{key: a, operator: Gt, values: ['1']}"),
      "error: its function gives the label a the operator \"Gt\", which is none of In, NotIn, Exists and "
      "DoesNotExist");
  EXPECT_EQ(of_one("{key: a, operator: In, values: []}"),
            "error: its function gives the label a the operator In, which takes one or more values");
  EXPECT_EQ(of_one("{key: a, operator: Exists, values: [b]}"),
            "error: its function gives the label a the operator Exists, which takes no values");
  EXPECT_EQ(of_one("{key: a, operator: In, values: ['b)']}"),
            "error: its function gives the label a \"b)\", which can't be a label's value");
  EXPECT_EQ(of_one("{key: 'a b', operator: Exists}"),
            "error: its function gives \"a b\", which can't be the name of a label");
  EXPECT_EQ(of_one("{key: a, operator: Exists, value: b}"),
            "error: its function gives an item of matchExpressions the field \"value\", and it has only key, "
            "operator, values");
  EXPECT_EQ(of_one("a"), "error: its function gives matchExpressions that are no list of records");
}

}  // namespace
}  // namespace mist::reconcile
