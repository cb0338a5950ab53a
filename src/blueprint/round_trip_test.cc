// The part that needs no engine; tests/cli/blueprint/conversion.txt has the rest.

#include "blueprint/round_trip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/json.h"
#include "testing/yaml.h"

namespace mist::blueprint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::yaml;

std::vector<std::string> changes(std::string_view before, std::string_view after) {
  std::vector<std::string> found;
  const auto text = [](const std::optional<Value>& value) {
    return value ? encoding::to_json(*value) : std::string("absent");
  };
  for (const FieldChange& each : changes_between(yaml(before), yaml(after)))
    found.push_back(fmt::format("{}: {} to {}", each.path, text(each.before), text(each.after)));
  return found;
}

TEST(RoundTrip, NamesWhatIsLostChangedAndAdded) {
  EXPECT_THAT(changes("{spec: {a: 1, b: {c: x, d: [1, {e: 2}]}, gone: {f: 1}}, status: {}}",
                      "{spec: {a: 2, b: {c: x, d: [1, {e: '2'}]}, new: true}, status: {phase: Up}}"),
              ElementsAre("spec.a: 1 to 2", "spec.b.d[1].e: 2 to \"2\"", "spec.gone: {\"f\":1} to absent",
                          "spec.new: absent to true", "status.phase: absent to \"Up\""));
  EXPECT_THAT(changes("{spec: {a: [1, 2]}}", "{spec: {a: [2]}}"), ElementsAre("spec.a: [1,2] to [2]"));
  EXPECT_THAT(changes("{spec: {a: null}}", "{spec: {}}"), ElementsAre("spec.a: null to absent"));
  EXPECT_THAT(
      changes("{labels: {example.com/a: x}, annotations: {b: one}}", "{labels: {}, annotations: {b: two}}"),
      ElementsAre("metadata.labels[\"example.com/a\"]: \"x\" to absent",
                  "metadata.annotations.b: \"one\" to \"two\""));
}

TEST(RoundTrip, WhatMeansTheSameIsNoChange) {
  EXPECT_THAT(changes("{spec: {a: 1, b: {}, c: [], d: {x: 1, y: 2}}}", "{spec: {a: 1.0, d: {y: 2, x: 1}}}"),
              IsEmpty());
  EXPECT_THAT(changes("{annotations: {}}", "{annotations: {example.com/kept: '{}'}}"), IsEmpty());
}

}  // namespace
}  // namespace mist::blueprint
