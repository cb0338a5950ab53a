#include "package/order_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "package/objects.h"
#include "testing/recorded_events.h"

namespace mist::package {
namespace {

using encoding::Value;
using ::testing::HasSubstr;

constexpr std::string_view kObjects = R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
---
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {mistletoe.dev/after: Secret/password}}
---
apiVersion: v1
kind: Secret
metadata: {name: password, namespace: a}
---
apiVersion: v1
kind: Secret
metadata: {name: password, namespace: b}
)";

std::string document(std::string_view edges) {
  return fmt::format("apiVersion: mistletoe.dev/v1\nkind: MistOrder\nedges: {}\n", edges);
}

struct Declared : ::testing::Test {
  NullEventSink events;
  Result<std::vector<apimachinery::RenderedObject>> parse(std::string order) {
    return parse_objects({{"0-order.yaml", std::move(order)}, {"objects.yaml", std::string(kObjects)}},
                         events);
  }
  std::string refused(std::string_view edges) {
    const auto parsed = parse(document(edges));
    if (parsed.ok()) return "it was taken";
    EXPECT_EQ(parsed.error().kind, ErrorKind::Invalid);
    EXPECT_EQ(parsed.error().where->file, "0-order.yaml");
    EXPECT_GT(parsed.error().where->line, 0u);
    EXPECT_FALSE(parsed.error().hint.empty()) << edges;
    return parsed.error().to_line() + " | " + parsed.error().hint;
  }
};

TEST_F(Declared, EdgesBecomeAnnotationsAndTheDocumentNoObject) {
  const auto parsed = parse(document(R"(
- {object: deployment/web, after: [Job/migrate@ready, "outside:Secret/creds?"]}
- {object: Job.batch/migrate, after: StatefulSet/db@ready, before: Secret/a/password}
- {object: Secret/b/password, before: Deployment/web}
)"));
  ASSERT_TRUE(parsed.ok()) << parsed.error().to_line();
  ASSERT_EQ(parsed->size(), 4u);
  const auto annotation = [&](std::size_t i, std::string_view name) {
    return std::string((*parsed)[i].object.annotation(name));
  };
  EXPECT_EQ(annotation(0, "mistletoe.dev/after"), "Job/migrate@ready, outside:Secret/creds?");
  EXPECT_EQ(annotation(1, "mistletoe.dev/after"), "Secret/password, StatefulSet/db@ready")
      << "beside what the object says itself";
  EXPECT_EQ(annotation(1, "mistletoe.dev/before"), "Secret/a/password");
  EXPECT_EQ(annotation(2, "mistletoe.dev/before"), "");
  EXPECT_EQ(annotation(3, "mistletoe.dev/before"), "Deployment/web");
  EXPECT_TRUE(parse(document("[]")).ok());
}

TEST_F(Declared, MistakesAreRefusedWithTheirPlace) {
  EXPECT_THAT(refused("[{object: Deployment/wbe, after: Job/migrate}]"),
              HasSubstr("renders no Deployment/wbe"));
  EXPECT_THAT(refused("[{object: Deployment/wbe, after: Job/migrate}]"),
              HasSubstr("did you mean Deployment/web?"));
  EXPECT_THAT(refused("[{object: Secret/password, after: Job/migrate}]"),
              HasSubstr("ambiguous: Secret a/password and Secret b/password"));
  EXPECT_THAT(refused("[{object: Deployment.batch/web, after: Job/migrate}]"), HasSubstr("renders no"));
  EXPECT_THAT(refused("[{object: web, after: Job/migrate}]"), HasSubstr("must be KIND/NAME"));
  EXPECT_THAT(refused("[{object: Deployment/web}]"),
              HasSubstr("needs \"object\", and \"after\" or \"before\""));
  EXPECT_THAT(refused("[{after: Deployment/web, before: Job/x}]"), HasSubstr("needs \"object\""));
  EXPECT_THAT(refused("[{object: Deployment/web, afetr: Job/migrate}]"), HasSubstr("did you mean after?"));
  EXPECT_THAT(refused("[{object: Deployment/web, after: []}]"), HasSubstr("a target or a list"));
  EXPECT_THAT(refused("[{object: Deployment/web, after: [{kind: Job}]}]"), HasSubstr("a target or a list"));
  EXPECT_THAT(refused("{object: Deployment/web}"), HasSubstr("edges must be a list"));
  EXPECT_THAT(refused("[web]"), HasSubstr("is not an object"));
  EXPECT_THAT(refused("[]\nmore: 1"), HasSubstr("MistOrder has no member more"));
  const auto newer = parse("apiVersion: mistletoe.dev/v9\nkind: MistOrder\nedges: []\n");
  ASSERT_FALSE(newer.ok());
  EXPECT_THAT(newer.error().to_line(), HasSubstr("mistletoe.dev/v9"));
}

TEST(ParseObjects, WarningsAboutOneTextAreBounded) {
  testing::RecordedEvents events;
  std::string text = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata:\n";
  for (int i = 0; i < 100; ++i) text += "  key: value\n";
  ASSERT_TRUE(parse_objects({{"a.yaml", text}}, events).ok());
  ASSERT_EQ(events.messages.size(), 21U);
  EXPECT_THAT(events.messages.back(), HasSubstr("79 more warnings"));
}

// One object in many entries: its annotation is written once, not once for each of them.
TEST(OrderDocument, WritesEachAnnotationOnce) {
  auto objects = parse_objects({{"a.yaml", std::string(kObjects)}}, *std::make_unique<NullEventSink>());
  ASSERT_TRUE(objects.ok());
  OrderDeclarations declarations(*objects);
  Value entries = Value::array();
  for (int i = 0; i < 2000; ++i)
    entries.push_back(
        Value::object({{"object", "Job/migrate"}, {"after", fmt::format("ConfigMap/c{}?", i)}}));
  ASSERT_TRUE(
      declarations
          .add(Value::object({{"apiVersion", "mistletoe.dev/v1"}, {"kind", "MistOrder"}, {"edges", entries}}))
          .ok());
  EXPECT_EQ((*objects)[1].object.annotation("mistletoe.dev/after"), "Secret/password")
      << "until all is known";
  declarations.write();
  const std::string after((*objects)[1].object.annotation("mistletoe.dev/after"));
  EXPECT_TRUE(after.starts_with("Secret/password, ConfigMap/c0?, ConfigMap/c1?"));
  EXPECT_TRUE(after.ends_with("ConfigMap/c1999?"));
}

}  // namespace
}  // namespace mist::package
