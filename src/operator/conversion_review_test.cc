#include "operator/conversion_review.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blueprint/converted_parts.h"
#include "encoding/json.h"
#include "testing/yaml.h"

namespace mist::operator_ {
namespace {

using ::testing::HasSubstr;
using testing::yaml;

std::string review_text(std::string_view request) {
  return encoding::to_json(yaml(
      fmt::format("{{apiVersion: apiextensions.k8s.io/v1, kind: ConversionReview, request: {}}}", request)));
}

const Value kWeb = yaml(R"(
apiVersion: example.com/v1
kind: App
metadata:
  name: web
  namespace: shop
  uid: "7"
  resourceVersion: "12"
  finalizers: [mistletoe.dev/operator]
  labels: {team: a, mistletoe.dev/instance-uid: "9"}
  annotations: {note: mine, mistletoe.dev/record: "[]"}
spec: {image: "nginx:1"}
status: {made: 1, conditions: [{type: Ready, status: "True"}]}
extra: kept
)");

TEST(ConversionReview, IsReadFromTheServersRequest) {
  const auto review = ConversionReview::parse(review_text(
      "{uid: u-1, desiredAPIVersion: example.com/v2, objects: [{apiVersion: example.com/v1, kind: App, "
      "metadata: {name: web}}]}"));
  ASSERT_TRUE(review.ok()) << review.error().to_line();
  EXPECT_EQ(review->uid, "u-1");
  EXPECT_EQ(review->group, "example.com");
  EXPECT_EQ(review->version, "v2");
  ASSERT_EQ(review->objects.size(), 1u);
  EXPECT_EQ(version_of(review->objects[0]), "v1");
  const auto none =
      ConversionReview::parse(review_text("{uid: u, desiredAPIVersion: a.b/v2, objects: null}"));
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->objects.empty());
}

TEST(ConversionReview, EverythingElseIsRefused) {
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("null"), std::string("\"x\""),
        std::string(2000, '['), std::string(R"({"apiVersion":"apiextensions.k8s.io/v1"})"),
        std::string(R"({"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"ConversionReview",)"
                    R"("request":{"uid":"u","desiredAPIVersion":"a.b/v1","objects":[]}})"),
        review_text("{desiredAPIVersion: a.b/v1, objects: []}"), review_text("{uid: u, objects: []}"),
        review_text("{uid: u, desiredAPIVersion: v1, objects: []}"),
        review_text("{uid: u, desiredAPIVersion: a.b/, objects: []}"),
        review_text("{uid: u, desiredAPIVersion: a.b/v1, objects: {}}"),
        review_text("{uid: u, desiredAPIVersion: a.b/v1, objects: [1]}"),
        review_text("{uid: u, desiredAPIVersion: a.b/v1, objects: [{apiVersion: v1, metadata: {}}]}"),
        review_text("{uid: u, desiredAPIVersion: a.b/v1, objects: [{apiVersion: a.b/v2, metadata: 1}]}")}) {
    const auto review = ConversionReview::parse(text);
    ASSERT_FALSE(review.ok()) << text;
    EXPECT_EQ(review.error().kind, ErrorKind::Invalid) << text;
  }
}

TEST(ConversionReview, FunctionsAreGivenWhatTheyMayChange) {
  const auto parts = blueprint::convertible_parts(kWeb);
  ASSERT_TRUE(parts.ok()) << parts.error().to_line();
  EXPECT_EQ(*parts,
            yaml("{name: web, namespace: shop, labels: {team: a}, annotations: {note: mine}, spec: {image: "
                 "'nginx:1'}, status: {made: 1}}"));
  const auto bare = blueprint::convertible_parts(yaml("{apiVersion: a.b/v1, metadata: {name: x}}"));
  ASSERT_TRUE(bare.ok());
  EXPECT_EQ(*bare, yaml("{name: x, namespace: '', labels: {}, annotations: {}, spec: {}, status: {}}"));
  for (const char* wrong : {"{metadata: {name: x}, spec: text}", "{metadata: {name: x}, status: []}",
                            "{metadata: {name: x, labels: 1}}"})
    EXPECT_FALSE(blueprint::convertible_parts(yaml(wrong)).ok()) << wrong;
}

TEST(ConversionReview, NothingElseOfAnObjectChanges) {
  const Value parts = yaml(
      "{name: other, namespace: other, uid: other, labels: {team: b, mistletoe.dev/instance-uid: stolen}, "
      "annotations: {mistletoe.dev/record: stolen}, spec: {image: {name: nginx}}, status: {size: 1, "
      "conditions: []}}");
  Value expected = kWeb;
  expected.set("apiVersion", "example.com/v2");
  expected["metadata"].set("labels", yaml("{team: b, mistletoe.dev/instance-uid: '9'}"));
  expected["metadata"].set("annotations", yaml("{mistletoe.dev/record: '[]'}"));
  expected.set("spec", yaml("{image: {name: nginx}}"));
  expected.set("status", yaml("{size: 1, conditions: [{type: Ready, status: 'True'}]}"));
  EXPECT_EQ(with_parts(kWeb, "example.com/v2", parts), expected);

  const Value cut = yaml("{apiVersion: a.b/v1, spec: {size: 1}}");
  EXPECT_EQ(with_parts(cut, "a.b/v2", *blueprint::convertible_parts(cut)),
            yaml("{apiVersion: a.b/v2, metadata: {}, spec: {size: 1}}"));
  const Value bare = yaml("{apiVersion: a.b/v1, metadata: {name: x}}");
  EXPECT_EQ(with_parts(bare, "a.b/v2", *blueprint::convertible_parts(bare)),
            yaml("{apiVersion: a.b/v2, metadata: {name: x}}"));
}

TEST(ConversionReview, AnswersEchoTheUid) {
  const auto good = encoding::parse_json(converted_answer("u-1", {kWeb, Value(1)}));
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good->string_at("kind"), "ConversionReview");
  EXPECT_EQ(good->string_at("apiVersion"), "apiextensions.k8s.io/v1");
  EXPECT_EQ(good->string_at({"response", "uid"}), "u-1");
  EXPECT_EQ(good->string_at({"response", "result", "status"}), "Success");
  EXPECT_EQ(*good->at_path({"response", "convertedObjects"}), Value(Value::Array{kWeb, Value(1)}));

  const auto bad = encoding::parse_json(failed_answer(
      "u-2", error(ErrorKind::Invalid, "App shop/web can't be converted: {}", std::string(9000, 'x'))));
  ASSERT_TRUE(bad.ok());
  EXPECT_EQ(bad->string_at({"response", "uid"}), "u-2");
  EXPECT_EQ(bad->string_at({"response", "result", "status"}), "Failed");
  EXPECT_EQ(bad->string_at({"response", "result", "reason"}), "Invalid");
  EXPECT_THAT(std::string(bad->string_at({"response", "result", "message"})),
              HasSubstr("App shop/web can't be"));
  EXPECT_LT(bad->string_at({"response", "result", "message"}).size(), 2100u);
}

}  // namespace
}  // namespace mist::operator_
