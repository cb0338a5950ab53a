#include "render/hidden_values.h"

#include <gtest/gtest.h>

#include "base/diagnosis.h"
#include "base/text.h"
#include "encoding/json.h"
#include "testing/yaml.h"

namespace mist::render {
namespace {

using encoding::Value;
using testing::yaml;

HiddenValues hidden(std::initializer_list<std::string_view> texts) {
  std::map<std::string, SecretString> values;
  for (const std::string_view text : texts) values.emplace(text, SecretString(std::string(text)));
  HiddenValues result;
  result.add(values);
  return result;
}

TEST(HiddenValues, HidesThemWhereverTheyStand) {
  const HiddenValues all = hidden({"s3cret", "on"});
  for (const char* text : {"s3cret", "a s3cret b", "on", "czNjcmV0"})
    EXPECT_TRUE(all.hides(Value(text))) << text;
  EXPECT_TRUE(all.hides(Value(base64_encode("postgres://u:s3cret@db"))));
  EXPECT_TRUE(all.hides(Value(base64_encode("on"))));
  for (const char* text : {"turn on", "s3cre", "", "Zm9v"}) EXPECT_FALSE(all.hides(Value(text))) << text;
  EXPECT_TRUE(hidden({"12345"}).hides(Value(12345))) << "a number, too";
  EXPECT_FALSE(all.hides(Value(true)));
  EXPECT_TRUE(HiddenValues().empty());
  EXPECT_FALSE(HiddenValues().hides(Value("x")));
}

TEST(HiddenValues, MasksObjectsButNotWhatTheyAreCalled) {
  Value object = yaml(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: s3cret, labels: {a: s3cret}}, data: {url: "
      "'u:s3cret@h', n: [s3cret, "
      "b]}}");
  hidden({"s3cret"}).mask(object);
  EXPECT_EQ(object, yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: s3cret, labels: {a: '***'}}, "
                         "data: {url: '***', "
                         "n: ['***', b]}}"));
}

TEST(HiddenValues, TwoStatesDifferStill) {
  Value before = yaml("{data: {same: s3cret, changed: s3cret, gone: s3cret}}");
  Value after = yaml("{data: {same: s3cret, changed: a s3cret, plain: x}}");
  hidden({"s3cret"}).mask(before, after);
  EXPECT_EQ(before, yaml("{data: {same: '***', changed: '*** (before)', gone: '***'}}"));
  EXPECT_EQ(after, yaml("{data: {same: '***', changed: '*** (after)', plain: x}}"));
}

TEST(HiddenValues, MasksErrorsToTheirCauses) {
  Error failure = error(ErrorKind::Invalid, "no s3cret")
                      .with_because("because of s3cret")
                      .with_hint("try s3cret")
                      .with_frame("while s3cret")
                      .at({"a.yaml", 1, 2, "line: s3cret"})
                      .caused_by(error(ErrorKind::Invalid, "below: s3cret"));
  const Error masked = hidden({"s3cret"}).masked(std::move(failure));
  for (const std::string& text : {masked.message, masked.because, masked.hint, masked.frames[0],
                                  masked.where->excerpt, masked.cause->message}) {
    EXPECT_EQ(text.find("s3cret"), std::string::npos) << text;
    EXPECT_NE(text.find("***"), std::string::npos) << text;
  }
}

TEST(HiddenValues, KeepsTheDiagnosisAndMasksItsTexts) {
  Diagnosis job{.kind = "Job", .name = "shop/a", .state = "it failed with s3cret"};
  job.children.push_back({.kind = "container",
                          .name = "migrate",
                          .state = "",
                          .events = {{true, "Failed", "no s3cret", 1}},
                          .log = {"boom: s3cret"},
                          .notes = {"a note of s3cret"}});
  Error failure = error(ErrorKind::Timeout, "1 object is not ready")
                      .caused_by(diagnosed(error(ErrorKind::Timeout, "below"), std::move(job)));
  const Error masked = hidden({"s3cret"}).masked(std::move(failure));
  ASSERT_NE(masked.cause, nullptr);
  const Diagnosis* const told = diagnosis_of(*masked.cause);
  ASSERT_NE(told, nullptr);
  ASSERT_EQ(told->children.size(), 1U);
  const Diagnosis& container = told->children[0];
  for (const std::string& text :
       {told->state, container.events[0].message, container.log[0], container.notes[0]}) {
    EXPECT_EQ(text.find("s3cret"), std::string::npos) << text;
    EXPECT_NE(text.find("***"), std::string::npos) << text;
  }
}

TEST(HiddenValues, TheRecordKnowsTheFields) {
  const auto object =
      *apimachinery::Object::from_value(yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: c, "
                                             "namespace: shop}, data: {a: s3cret, b: plain}}"));
  ObjectView objects;
  objects.emplace(object.key(), &object.value());
  const auto fields = hidden({"s3cret"}).fields_in(objects);
  ASSERT_EQ(fields.size(), 1U);
  EXPECT_EQ(fields[0].path, ".data.a");
  HiddenValues later;
  later.add(fields, objects);
  EXPECT_TRUE(later.hides(Value("s3cret")));
  EXPECT_FALSE(later.hides(Value("plain")));
}

}  // namespace
}  // namespace mist::render
