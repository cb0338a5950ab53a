#include "apply/order/label_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "apply/order/label_match.h"
#include "testing/yaml.h"

namespace mist::apply {
namespace {

using encoding::Value;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::yaml;

TEST(LabelIndex, ChoosesAsTheComparisonDoes) {
  const std::vector<Value> labels = {yaml("{a: x, b: y}"), yaml("{a: x}"), yaml("{a: z}"), yaml("{}"),
                                     yaml("null")};
  LabelIndex index;
  for (std::size_t i = 0; i < labels.size(); ++i) index.add(i, &labels[i]);
  index.add(labels.size(), nullptr);
  for (const std::string_view text :
       {"{}", "{matchLabels: {a: x}}", "{matchLabels: {a: x, b: y}}", "{matchLabels: null}",
        "{matchLabels: 1}", "{matchLabels: {c: x}}", "{matchLabels: {}}",
        "{matchLabels: {a: x}, matchExpressions: [{key: b, operator: DoesNotExist}]}",
        "{matchExpressions: [{key: a, operator: In, values: [x, q]}]}",
        "{matchExpressions: [{key: a, operator: NotIn, values: [x]}]}"}) {
    const Value selector = yaml(text);
    std::vector<std::size_t> expected;
    for (std::size_t i = 0; i <= labels.size(); ++i)
      if (selects(selector, i < labels.size() ? &labels[i] : nullptr)) expected.push_back(i);
    WorkBudget budget(1000);
    EXPECT_EQ(index.selected(selector, budget), expected) << text;
  }
  WorkBudget budget(1000);
  EXPECT_THAT(*index.selected_by_map(yaml("{a: x}"), budget), ElementsAre(0, 1));
  EXPECT_THAT(*index.selected_by_map(yaml("{}"), budget), IsEmpty());
}

// Twice as many selectors and sets of labels, each with its own: twice the work.
TEST(LabelIndex, WorkGrowsWithTheMatchesAndNotWithThePairs) {
  const auto work = [](int count) {
    std::vector<Value> labels;
    for (int i = 0; i < count; ++i) labels.push_back(yaml(fmt::format("{{app: w{}, all: x}}", i)));
    LabelIndex index;
    for (std::size_t i = 0; i < labels.size(); ++i) index.add(i, &labels[i]);
    WorkBudget budget(1'000'000'000);
    for (int i = 0; i < count; ++i)
      EXPECT_EQ(index.selected(yaml(fmt::format("{{matchLabels: {{all: x, app: w{}}}}}", i)), budget)->size(),
                1U);
    return 1'000'000'000 - budget.left();
  };
  EXPECT_EQ(work(400), 2 * work(200));
}

TEST(LabelIndex, EndsWhereTheBudgetDoes) {
  const Value labels = yaml("{a: x}");
  LabelIndex index;
  for (std::size_t i = 0; i < 100; ++i) index.add(i, &labels);
  WorkBudget budget(50);
  EXPECT_EQ(index.selected(yaml("{}"), budget), std::nullopt);
  EXPECT_EQ(budget.left(), 0U);
}

}  // namespace
}  // namespace mist::apply
