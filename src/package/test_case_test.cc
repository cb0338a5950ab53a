#include "package/test_case.h"

#include <gtest/gtest.h>

namespace mist::package {
namespace {

Result<TestCase> parse(const std::string& text) { return TestCase::parse("big", text, "tests/big.yaml"); }

Rendered rendered(std::vector<Value> objects) {
  Rendered result;
  for (Value& each : objects)
    result.objects.push_back({*apimachinery::Object::from_value(std::move(each)), "a.yaml", 1});
  return result;
}
Value config_map(std::string_view name) {
  return Value::object(
      {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", Value::object({{"name", name}})}});
}

TEST(TestCase, NothingInAFileIsTheDefaultsAgainstAGoldenFile) {
  const auto test = parse("# the defaults\n");
  ASSERT_TRUE(test.ok()) << test.error().to_line();
  EXPECT_EQ(test->golden, "big.golden.yaml");
  EXPECT_TRUE(test->values.is_object());
  const RenderRequest request = test->request();
  EXPECT_EQ(request.release_name, "test");
  EXPECT_EQ(format_time(request.clock), "2026-01-01T00:00:00Z");
  EXPECT_EQ(request.seed, TestCase().request().seed);
  EXPECT_NE(request.seed, crypto::Seed());
}

TEST(TestCase, ReadsAllOfIt) {
  const auto test = parse(
      "values: {a: 1}\nrelease: {name: shop, namespace: prod, revision: 3, isUpgrade: true}\n"
      "capabilities: {kubeVersion: v1.30.0, apiVersions: [x/v1]}\ngolden: other.golden.yaml\n"
      "expect: {objects: 2, contains: [{kind: Pod, name: a, namespace: b, apiVersion: v1}]}\n");
  ASSERT_TRUE(test.ok()) << test.error().to_line();
  EXPECT_EQ(test->golden, "other.golden.yaml");
  EXPECT_EQ(test->values, Value::object({{"a", 1}}));
  EXPECT_EQ(test->request().release_namespace, "prod");
  EXPECT_EQ(test->request().revision, 3);
  EXPECT_TRUE(test->request().is_upgrade);
  EXPECT_EQ(test->kube_version, "v1.30.0");
  EXPECT_EQ(test->api_versions, std::vector<std::string>{"x/v1"});
  EXPECT_EQ(test->objects, 2u);
  EXPECT_EQ(test->contains.at(0).ns, "b");
}

TEST(TestCase, WhatIsWrongHasItsLine) {
  const auto fails = [](const std::string& text, std::string_view message, std::uint32_t line,
                        std::string_view hint = {}) {
    const auto test = parse(text);
    ASSERT_FALSE(test.ok()) << text;
    EXPECT_NE(test.error().message.find(message), std::string::npos) << test.error().message;
    ASSERT_TRUE(test.error().where) << text;
    EXPECT_EQ(test.error().where->line, line) << text;
    EXPECT_NE(test.error().hint.find(hint), std::string::npos) << test.error().hint;
  };
  fails("values: {}\nvalue: 1\n", "value is unknown", 2, "did you mean values?");
  fails("values: [1]\n", "values must be a mapping", 1);
  fails("\nexpect:\n  contain: []\n", "expect.contain is unknown", 3, "did you mean contains?");
  fails("release: {name: A_b}\n", "release.name must be letters", 1);
  fails("golden: ../x.golden.yaml\n", "golden must be a file beside the case", 1);
  fails("golden: default.yaml\n", "golden must be a file beside the case", 1);
  fails("golden: a.golden.yaml\nexpect: {error: x}\n", "expects an error has no golden", 1);
  fails("golden: false\n", "expects nothing", 1);
  fails("expect: {error: x, objects: 1}\n", "expect.error means", 1);
  fails("expect: {objects: -1}\n", "objects must be a whole number", 1);
  EXPECT_FALSE(parse("values: {a: 1, a: 2}\n").ok());
}

TEST(TestCase, FilesThatAreCases) {
  EXPECT_EQ(case_names({"b.yaml", "a.yaml", "a.golden.yaml", ".x.yaml", "README.md"}),
            (std::vector<std::string>{"a", "b"}));
}

TEST(TestCase, GoldenTextsAreObjectsAndTheMessage) {
  Rendered some = rendered({config_map("a"), config_map("b")});
  some.message = "Hello\n\nyou\n";
  EXPECT_EQ(golden_text(some),
            "---\n# a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
            "---\n# a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n"
            "---\n# Message:\n# Hello\n#\n# you\n");
}

TEST(TestCase, SaysWhichExpectationsAreBroken) {
  TestCase test;
  test.objects = 2;
  test.contains = {{.api_version = {}, .kind = "ConfigMap", .name = "a", .ns = {}},
                   {.api_version = "v1", .kind = "Pod", .name = "a", .ns = "x"}};
  EXPECT_EQ(broken_expectations(test, rendered({config_map("a")})),
            (std::vector<std::string>{"expected 2 objects, got 1",
                                      "expected v1 Pod a in namespace x, and there is none"}));
  test.contains.pop_back();
  EXPECT_TRUE(broken_expectations(test, rendered({config_map("a"), config_map("b")})).empty());
}

TEST(TestCase, ExpectedErrorsAreLookedForInAllThatIsSaid) {
  TestCase test;
  test.error = "an image";
  EXPECT_EQ(wrong_error(test, error(ErrorKind::Invalid, "it failed").with_because("give an image, please")),
            "");
  EXPECT_EQ(
      wrong_error(test,
                  error(ErrorKind::Invalid, "it failed").caused_by(error(ErrorKind::Invalid, "an image"))),
      "");
  EXPECT_EQ(wrong_error(test, error(ErrorKind::Invalid, "no")),
            "expected an error with \"an image\", got: no");
}

}  // namespace
}  // namespace mist::package
