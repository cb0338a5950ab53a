#include "render/answers.h"

#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::render {
namespace {

using encoding::Value;
using ::mist::testing::yaml;

release::Revision revision_with(std::string_view values, const Answers& answers) {
  release::Revision revision;
  revision.user_values = yaml(std::string(values));
  revision.options = Value::object();
  answers.record(revision.options);
  return revision;
}

const Answers kAnswers{{{"domain", false}, {"tls.key", true}}};

TEST(Answers, AreRememberedInTheOptions) {
  Value options = Value::object();
  Answers().record(options);
  EXPECT_EQ(options, Value::object()) << "a release without questions says nothing";
  kAnswers.record(options);
  EXPECT_EQ(Answers::recorded(options), kAnswers);
  EXPECT_EQ(Answers::recorded(yaml("{answers: [{name: a}, 3, {name: '', secret: true}]}")), Answers());
  EXPECT_EQ(Answers::recorded(Value()), Answers());
}

TEST(Answers, AreRepeatedUnlessOthersAreGiven) {
  const auto stored = revision_with("{domain: a.example, replicas: 3, tls: {key: k, other: 1}}", kAnswers);
  EXPECT_EQ(with_answers(yaml("{replicas: 4}"), &stored),
            yaml("{replicas: 4, domain: a.example, tls: {key: k}}"))
      << "values that nobody asked for are as they are given";
  EXPECT_EQ(with_answers(yaml("{domain: b.example, tls: {key: new}}"), &stored),
            yaml("{domain: b.example, tls: {key: new}}"));
  EXPECT_EQ(with_answers(yaml("{domain: null, tls: plain}"), &stored), yaml("{domain: null, tls: plain}"))
      << "null asks again, and what is no object stays";
  EXPECT_EQ(with_answers(yaml("{a: 1}"), nullptr), yaml("{a: 1}"));
}

TEST(Answers, SecretOnesAreHidden) {
  auto revision = revision_with("{domain: a.example, tls: {key: k}}", kAnswers);
  hide_answers(revision);
  EXPECT_EQ(revision.user_values, yaml("{domain: a.example, tls: {key: '***'}}"));
  auto without = revision_with("{domain: a.example}", kAnswers);
  hide_answers(without);
  EXPECT_EQ(without.user_values, yaml("{domain: a.example}"));
}

}  // namespace
}  // namespace mist::render
