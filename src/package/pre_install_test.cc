#include "package/pre_install.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::package {
namespace {

using encoding::Value;
using mist::testing::yaml;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const Files kKube{{"K3.yaml", "name: a"},
                  {"manifests/a.yaml", "a"},
                  {"manifests/old.yaml", "old"},
                  {"scripts/pre-install.py", "import kpm"},
                  {"templates/x.j2", "x"}};

TEST(PreInstall, IsTheScriptOfAKube) {
  EXPECT_TRUE(has_pre_install(kKube));
  EXPECT_FALSE(has_pre_install({{"scripts/pre-install.py", ""}, {"Chart.yaml", ""}}));
  EXPECT_FALSE(has_pre_install({{"K3.yaml", ""}, {"scripts/post-install.py", ""}}));
}

TEST(PreInstall, ItsManifestsBecomePartOfThePackage) {
  const auto result = script_result({{"manifests/a.yaml", "new"}, {"manifests/b.yaml", "b"}, {"stray", "x"}},
                                    yaml("{removed: [manifests/old.yaml, K3.yaml], answered: [domain, pin], "
                                         "secretAnswers: [pin, unasked]}"));
  ASSERT_TRUE(result.ok()) << result.error().to_line();
  EXPECT_THAT(
      after_script(kKube, *result),
      ElementsAre(Pair("K3.yaml", "name: a"), Pair("manifests/a.yaml", "new"), Pair("manifests/b.yaml", "b")))
      << "nothing but manifests/ changes, and what serves the script alone is gone";
  EXPECT_THAT(result->answers, ElementsAre(Answer{"domain", false}, Answer{"pin", true}));
  EXPECT_FALSE(result->question);
  EXPECT_THAT(result->needs_host, IsEmpty());
}

TEST(PreInstall, OfAHostScriptAllManifestsAreTaken) {
  EXPECT_THAT(with_manifests(kKube, {{"manifests/b.yaml", "b"}, {"K3.yaml", "evil"}}),
              UnorderedElementsAre(Pair("K3.yaml", "name: a"), Pair("manifests/b.yaml", "b")));
}

TEST(PreInstall, AQuestionIsAnErrorThatSaysHowToAnswer) {
  const auto result = script_result({}, yaml("{question: {name: tls.mode, prompt: Which?, type: text, "
                                             "default: a, choices: [a, b], secret: false}}"));
  ASSERT_TRUE(result.ok() && result->question);
  const Error failure = unanswered(*result->question, "./shop");
  EXPECT_EQ(failure.message, "./shop asks for tls.mode, and nobody answered");
  EXPECT_EQ(failure.because, "Which? (one of a, b)");
  EXPECT_THAT(failure.hint, HasSubstr("--set tls.mode="));
  ASSERT_NE(failure.detail<Unanswered>(), nullptr);
  EXPECT_EQ(failure.detail<Unanswered>()->question.default_answer, Value("a"));
  EXPECT_TRUE(failure.detail<Unanswered>()->question.has_default);
  Question secret{.name = "pin", .prompt = "PIN", .type = AnswerType::Integer, .secret = true};
  EXPECT_THAT(unanswered(secret, "x").hint, ::testing::Not(HasSubstr("--set")))
      << "a command line is seen by every process";
}

TEST(PreInstall, DefaultsThatWereTakenAreNoValues) {
  EXPECT_EQ(
      without_taken_defaults(
          yaml("{admin: {password: {kpm.take-default: true}}, pin: {kpm.take-default: true}, "
               "tls: {key: {kpm.take-default: true}, port: 1}, empty: {}, "
               "odd: {kpm.take-default: false}, list: [{kpm.take-default: true}]}")),
      yaml("{tls: {port: 1}, empty: {}, odd: {kpm.take-default: false}, list: [{kpm.take-default: true}]}"));
  EXPECT_EQ(without_taken_defaults(Value()), Value());
}

TEST(PreInstall, SecretAnswersAreFoundAmongTheValues) {
  const Value values = yaml("{domain: a.example, tls: {key: k, port: 8443}, gone: null}");
  EXPECT_EQ(*answer_at(values, "tls.key"), Value("k"));
  EXPECT_EQ(answer_at(values, "domain.key"), nullptr);
  const auto secrets = secret_answers(
      {{"domain", false}, {"gone", true}, {"missing.key", true}, {"tls.key", true}, {"tls.port", true}},
      values);
  ASSERT_EQ(secrets.size(), 2U);
  EXPECT_EQ(secrets.at("the answer to tls.key").reveal(), "k");
  EXPECT_EQ(secrets.at("the answer to tls.port").reveal(), "8443");
}

TEST(PreInstall, ASecretQuestionHasItsDefaultUnseen) {
  const auto result =
      script_result({}, yaml("{question: {name: pin, type: text, secret: true, hasDefault: true}}"));
  ASSERT_TRUE(result.ok() && result->question);
  EXPECT_TRUE(result->question->has_default);
  EXPECT_TRUE(result->question->default_answer.is_null());
  const auto open = script_result({}, yaml("{question: {name: pin, type: text, secret: true}}"));
  ASSERT_TRUE(open.ok() && open->question);
  EXPECT_FALSE(open->question->has_default);
}

TEST(PreInstall, WhatTheSandboxLacksIsNamed) {
  const auto result = script_result({}, yaml("{needsHost: subprocess, where: {file: scripts/pre-install.py, "
                                             "line: 3, text: import subprocess}}"));
  ASSERT_TRUE(result.ok());
  const Error failure = needs_host_python(*result, "./shop");
  EXPECT_THAT(failure.because, HasSubstr("subprocess"));
  EXPECT_THAT(failure.hint, HasSubstr("--allow-host-scripts"));
  ASSERT_TRUE(failure.where);
  EXPECT_EQ(failure.where->text(), "scripts/pre-install.py:3");
  EXPECT_NE(failure.detail<NeedsHostPython>(), nullptr);
}

TEST(PreInstall, AnEngineThatSaysSomethingElseIsAFault) {
  EXPECT_FALSE(script_result({}, Value()).ok());
  const auto odd = script_result({}, yaml("{question: {name: a, type: list}, answered: 3, where: here}"));
  ASSERT_TRUE(odd.ok());
  EXPECT_FALSE(odd->question);
  EXPECT_THAT(odd->answers, IsEmpty());
}

}  // namespace
}  // namespace mist::package
