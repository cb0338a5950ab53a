#include "action/query/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/yaml.h"
#include "testing/yaml.h"

namespace mist::action {
namespace {

using apply::ActionKind;
using apply::DesiredObject;
using apply::PlannedAction;
using encoding::Value;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::yaml;

// "-replicas: 2\n+replicas: 3 (5)\n": a hunk's lines, additions with the line of their source.
std::string text(const ObjectDiff& diff) {
  std::string result;
  for (const Hunk& hunk : diff.hunks) {
    result += fmt::format("@{},{}\n", hunk.before, hunk.after);
    for (const DiffLine& line : hunk.lines)
      result += fmt::format("{}{}{}\n",
                            line.change == LineChange::Same      ? ' '
                            : line.change == LineChange::Removed ? '-'
                                                                 : '+',
                            line.text, line.source == 0 ? "" : fmt::format(" ({})", line.source));
  }
  return result;
}

struct Case {
  apply::Plan plan;
  apply::LiveState live;
};

// One object, as a plan would have it.
Case planned(ActionKind kind, std::string_view wanted, std::string_view there) {
  Case result;
  auto object = apimachinery::Object::from_value(yaml(wanted));
  EXPECT_TRUE(object.ok()) << object.error().to_line();
  DesiredObject desired{{*std::move(object), "web.yaml", 1}, {}, false, {}};
  desired.key = desired.rendered.object.key();
  PlannedAction action;
  action.kind = kind;
  action.key = desired.key;
  if (!there.empty()) {
    const Value live = yaml(there);
    if (kind != ActionKind::Create)
      action.differences = apply::differences(desired.rendered.object.value(), live, "mistctl");
    result.live[action.key] = {live, true};
  }
  result.plan.desired.push_back(std::move(desired));
  (kind == ActionKind::Delete ? result.plan.removals : result.plan.writes).push_back(std::move(action));
  return result;
}

TEST(Diff, ShowsTheLinesThatChangeAndWhereTheyWereWritten) {
  const Case each = planned(ActionKind::Update, R"(apiVersion: v1
kind: ConfigMap
metadata:
  name: web
data:
  a: same
  b: new
)",
                            R"(
apiVersion: v1
kind: ConfigMap
metadata: {name: web, uid: u, resourceVersion: "7", managedFields: [], labels: {applyset.kubernetes.io/part-of: x}}
data: {a: same, b: old, theirs: stays}
)");
  const auto diff = diff_of(each.plan, each.live, {.context = 1});
  ASSERT_EQ(diff.size(), 1u);
  EXPECT_EQ(diff[0].file, "web.yaml");
  EXPECT_EQ(text(diff[0]), "@6,6\n   a: same\n-  b: old\n+  b: new (7)\n   theirs: stays\n");
}

TEST(Diff, CreatesAndDeletesAreWhole) {
  constexpr std::string_view kObject =
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {a: b}}";
  const Case create = planned(ActionKind::Create, kObject, "");
  EXPECT_THAT(text(diff_of(create.plan, create.live, {})[0]), HasSubstr("+  a: b (1)\n"));
  const Case gone = planned(ActionKind::Delete, kObject, kObject);
  EXPECT_EQ(text(diff_of(gone.plan, gone.live, {})[0]),
            "@1,1\n-apiVersion: v1\n-kind: ConfigMap\n-metadata:\n-  name: web\n-data:\n-  a: b\n");
}

TEST(Diff, UnchangedObjectsAreLeftOut) {
  constexpr std::string_view kObject =
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {a: b}}";
  const Case same = planned(ActionKind::Unchanged, kObject, kObject);
  EXPECT_TRUE(diff_of(same.plan, same.live, {}).empty());
}

TEST(Diff, ListsAndTextsOfSeveralLinesAreYaml) {
  const Case create = planned(ActionKind::Create, R"(apiVersion: v1
kind: Pod
metadata: {name: web, labels: {"on": "true", "1": x}}
spec:
  containers:
  - name: a
    args: [b, "c: d"]
    env: [{name: E}]
  empty: {}
  none: []
  script: |
    one
    two
  stripped: |-
    one
    two
  kept: |+
    one

  indented: |2
      one
    two
  single: "k=v\n"
  break: "\n"
  breaks: ["\n\n", "x\n"]
  nested: [[x, y]]
)",
                              "");
  std::string yaml_text;
  const auto diff = diff_of(create.plan, create.live, {});
  for (const Hunk& hunk : diff[0].hunks) {
    for (const DiffLine& line : hunk.lines) yaml_text += line.text + "\n";
  }
  EXPECT_EQ(yaml(yaml_text), create.plan.desired[0].rendered.object.value()) << yaml_text;
}

// Lines of the diff are lines of the text.
TEST(Diff, LongTextsStandOnOneLine) {
  std::string words = "word";
  for (int i = 0; i < 40; ++i) words += " word";
  const Case create = planned(
      ActionKind::Create,
      fmt::format("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: web}}, data: {{a: {}, b: '{}: x'}}}}",
                  words, words),
      "");
  const auto diff = diff_of(create.plan, create.live, {});
  EXPECT_THAT(text(diff[0]), HasSubstr(fmt::format("+  a: {} (1)\n+  b: '{}: x' (1)\n", words, words)));
}

std::vector<release::RenderedObject> recorded_map(std::string_view text) {
  Value map = yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {}}");
  map["data"].set("a", Value(text));
  auto object = apimachinery::Object::from_value(std::move(map));
  EXPECT_TRUE(object.ok()) << object.error().to_line();
  return {{*std::move(object), "web.yaml", 1}};
}

TEST(Diff, AFinalNewlineIsADifference) {
  struct Change {
    std::string_view before, after, removed, added;
  };
  for (const Change& each : {Change{"one\ntwo\n", "one\ntwo", "  a: |", "  a: |-"},
                             Change{"one\n", "one\n\n", "  a: |", "  a: |+"}}) {
    const auto diffs = diff_of_recorded(recorded_map(each.before), recorded_map(each.after), {});
    ASSERT_EQ(diffs.size(), 1u) << each.added;
    EXPECT_FALSE(diffs[0].only_moved);
    ASSERT_EQ(diffs[0].hunks.size(), 1u) << each.added;
    std::vector<std::string> removed, added;
    for (const DiffLine& line : diffs[0].hunks[0].lines) {
      if (line.change == LineChange::Removed) removed.push_back(line.text);
      if (line.change == LineChange::Added) added.push_back(line.text);
    }
    EXPECT_THAT(removed, Contains(each.removed));
    EXPECT_THAT(added, Contains(each.added));
  }
}

TEST(Diff, SecretsShowThatTheyChangeAndNothingMore) {
  constexpr std::string_view kWanted =
      "{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {same: c2FtZQ==, changed: bmV3, added: "
      "YWRkZWQ=}}";
  constexpr std::string_view kLive =
      "{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: "
      "{kubectl.kubernetes.io/last-applied-configuration: 'old c2FtZQ=='}, managedFields: [{manager: "
      "mistctl, "
      "operation: Apply, fieldsV1: {f:data: {f:gone: {}}}}]}, data: {same: c2FtZQ==, changed: b2xkZXI=, "
      "gone: "
      "Z29uZQ==}}";
  const Case each = planned(ActionKind::Update, kWanted, kLive);
  const auto masked = diff_of(each.plan, each.live, {.context = 100})[0];
  const std::string lines = text(masked);
  for (const std::string_view secret : {"c2FtZQ", "bmV3", "YWRkZWQ", "b2xkZXI", "Z29uZQ"}) {
    EXPECT_THAT(lines, Not(HasSubstr(secret)));
    for (const apply::FieldDifference& field : masked.fields) {
      EXPECT_NE(field.before, Value(secret));
      EXPECT_THAT(encoding::to_yaml(field.before) + encoding::to_yaml(field.after), Not(HasSubstr(secret)));
    }
  }
  EXPECT_THAT(lines, HasSubstr("   same: '***'\n"));
  EXPECT_THAT(lines, HasSubstr("-  changed: '*** (before)'\n"));
  EXPECT_THAT(lines, HasSubstr("+  changed: '*** (after)' (1)\n"));
  EXPECT_THAT(lines, HasSubstr("-  gone: '***'\n"));
  EXPECT_THAT(text(diff_of(each.plan, each.live, {.show_secrets = true})[0]), HasSubstr("b2xkZXI="));
}

TEST(Diff, AnAdoptionRemovesKubectlsAnnotation) {
  constexpr std::string_view kWanted =
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {a: b}}";
  constexpr std::string_view kLive =
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: web, annotations: "
      "{kubectl.kubernetes.io/last-applied-configuration: applied}}, data: {a: b}}";
  Case each = planned(ActionKind::Adopt, kWanted, kLive);
  each.plan.writes[0].transfer = apply::FieldTransfer{.last_applied = true};
  const auto diff = diff_of(each.plan, each.live, {.context = 0});
  ASSERT_EQ(diff.size(), 1u);
  EXPECT_EQ(text(diff[0]),
            "@5,5\n-  annotations:\n-    kubectl.kubernetes.io/last-applied-configuration: applied\n");
  EXPECT_THAT(diff[0].fields,
              ElementsAre(Field(&apply::FieldDifference::steps,
                                ElementsAre(Field(&apply::PathStep::name, "metadata"),
                                            Field(&apply::PathStep::name, "annotations"),
                                            Field(&apply::PathStep::name, apply::kLastAppliedAnnotation)))));

  each.plan.writes[0].transfer->last_applied = false;
  EXPECT_EQ(text(diff_of(each.plan, each.live, {.context = 0})[0]), "");
}

}  // namespace
}  // namespace mist::action
