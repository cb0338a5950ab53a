#include "catalog/trial_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/storage_fault.h"
#include "encoding/json.h"
#include "package/installation_fault.h"

namespace mist::catalog {
namespace {

using encoding::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TrialMessagesTest : public ::testing::Test {
 protected:
  // As a process says it: each line by itself.
  std::string said(const std::function<void(const TrialReport&)>& tell) {
    std::string text = hello_line("1.0");
    tell(report_by([&](const std::string& line) {
      text += line;
      return Status();
    }));
    return text;
  }
  TrialReport heard() {
    return {.step =
                [this](const Step& step) {
                  steps_.push_back(step);
                  return step_status_;
                },
            .nodes =
                [this](TestNodes nodes) {
                  nodes_.push_back(nodes);
                  return Status();
                },
            .objects =
                [this](const VersionObjects& objects) {
                  objects_.push_back(objects);
                  return Status();
                },
            .warn = [this](const std::string& text) { warnings_.push_back(text); }};
  }

  std::vector<Step> steps_;
  std::vector<TestNodes> nodes_;
  std::vector<VersionObjects> objects_;
  std::vector<std::string> warnings_;
  Status step_status_;
  const TrialReport report_ = heard();
  TrialListener listener_{"1.0", TrialPart::OnCluster, report_};
};

TEST_F(TrialMessagesTest, ARequestArrivesAsItWasMade) {
  const TrialRequest made{.program = "1.0",
                          .part = TrialPart::OnCluster,
                          .job = {.id = 7,
                                  .attempt = 2,
                                  .holder = "w",
                                  .package = "etcd",
                                  .version = "1.0.0",
                                  .digest = "sha256:1",
                                  .owner = "ann",
                                  .previous_version = "0.9.0",
                                  .previous_digest = "sha256:2"},
                          .instance = "test",
                          .timeout = std::chrono::seconds(5),
                          .longest = std::chrono::seconds(20),
                          .spent = std::chrono::milliseconds(1500),
                          .isolation = "none",
                          .kubeconfig = "/k",
                          .context = "c",
                          .git_through_proxy = true};
  const std::string line = made.to_line();
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto read = TrialRequest::from_line(line);
  ASSERT_TRUE(read.ok()) << read.error().to_line();
  EXPECT_EQ(read->to_line(), line);
  EXPECT_EQ(read->part, TrialPart::OnCluster);
  EXPECT_EQ(read->spent, std::chrono::milliseconds(1500));
  EXPECT_EQ(read->job.previous_digest, "sha256:2");
  EXPECT_FALSE(TrialRequest::from_line("{}").ok());
  EXPECT_FALSE(TrialRequest::from_line(R"({"job": {}, "part": "another"})").ok());
}

TEST_F(TrialMessagesTest, StepsArriveWhateverPiecesTheOutputComesIn) {
  const Step step{.name = "lint",
                  .state = StepState::Failed,
                  .summary = "two \"errors\"\n",
                  .log = "one\ntwo\x1b",
                  .began = *parse_time("2026-01-02T03:04:05Z"),
                  .elapsed = std::chrono::milliseconds(250)};
  const std::string text = said([&](const TrialReport& report) {
    report.began("lint");
    EXPECT_TRUE(report.step(step).ok());
    EXPECT_TRUE(report.nodes(TestNodes::Simulated).ok());
    report.warn("it stays");
  });
  for (const char each : text) ASSERT_TRUE(listener_.hear({&each, 1}).ok());
  ASSERT_EQ(steps_.size(), 1u);
  EXPECT_EQ(steps_[0].name, "lint");
  EXPECT_EQ(steps_[0].state, StepState::Failed);
  EXPECT_EQ(steps_[0].summary, step.summary);
  EXPECT_EQ(steps_[0].log, step.log);
  EXPECT_EQ(steps_[0].began, step.began);
  EXPECT_EQ(steps_[0].elapsed, step.elapsed);
  EXPECT_THAT(nodes_, ElementsAre(TestNodes::Simulated));
  EXPECT_THAT(warnings_, ElementsAre("it stays"));
  EXPECT_EQ(listener_.step(), "lint");
  EXPECT_FALSE(listener_.end());
}

TEST_F(TrialMessagesTest, ObjectsArriveOnce) {
  const VersionObjects objects{
      .graph = Value::object({{"objects", Value(2)}}), .security = Value::array(), .text = "kind: Pod\n"};
  const std::string text = said([&](const TrialReport& report) { (void)report.objects(objects); });
  ASSERT_TRUE(listener_.hear(text).ok());
  ASSERT_EQ(objects_.size(), 1u);
  EXPECT_EQ(objects_[0].graph, objects.graph);
  EXPECT_EQ(objects_[0].security, objects.security);
  EXPECT_EQ(objects_[0].text, objects.text);
  const Status again = listener_.hear(text.substr(hello_line("1.0").size()));
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().detail<NotATrial>(), nullptr);
}

TEST_F(TrialMessagesTest, TheEndSaysWhoseFaultAnErrorIs) {
  ASSERT_TRUE(listener_.hear(hello_line("1.0") + end_line(true)).ok());
  EXPECT_TRUE(**listener_.end());
  const Error failure = error(ErrorKind::Timeout, "no answer")
                            .with_because("it is away")
                            .with_frame("while looking")
                            .with_detail(ClusterFault())
                            .with_detail(StorageFault());
  TrialListener on_cluster("1.0", TrialPart::OnCluster, report_);
  ASSERT_TRUE(on_cluster.hear(hello_line("1.0") + end_line(failure)).ok());
  const Error& told = on_cluster.end()->error();
  EXPECT_EQ(told.to_line(), failure.to_line());
  EXPECT_EQ(told.kind, ErrorKind::Timeout);
  EXPECT_NE(told.detail<ClusterFault>(), nullptr);
  EXPECT_TRUE(is_storage_fault(told));
  EXPECT_EQ(told.detail<package::InstallationFault>(), nullptr);
  // A process that has no cluster can't make the queue wait for one.
  TrialListener offline("1.0", TrialPart::Offline, report_);
  ASSERT_TRUE(offline.hear(hello_line("1.0") + end_line(failure)).ok());
  EXPECT_EQ(offline.end()->error().detail<ClusterFault>(), nullptr);
}

TEST_F(TrialMessagesTest, AnotherVersionOfTheProgramIsAFaultOfTheInstallation) {
  const Status heard = listener_.hear(hello_line("1.1"));
  ASSERT_FALSE(heard.ok());
  EXPECT_NE(heard.error().detail<package::InstallationFault>(), nullptr);
  EXPECT_FALSE(listener_.began());
}

TEST_F(TrialMessagesTest, AnErrorOfTheReportIsHandedOn) {
  step_status_ = error(ErrorKind::Conflict, "the lease was lost");
  const Status heard =
      listener_.hear(said([](const TrialReport& report) { (void)report.step({.name = "lint"}); }));
  ASSERT_FALSE(heard.ok());
  EXPECT_EQ(heard.error().kind, ErrorKind::Conflict);
  EXPECT_EQ(heard.error().detail<NotATrial>(), nullptr);
}

TEST_F(TrialMessagesTest, WhatNoTrialSaysIsRefused) {
  const std::string hello = hello_line("1.0");
  std::string many = hello;
  for (int i = 0; i < 100; ++i)
    many += R"({"step":{"name":"a","state":"passed"}})"
            "\n";
  for (const std::string& text :
       {std::string("no JSON\n"), std::string("{\"passed\":true}\n"), hello + "{\"another\":1}\n",
        hello + "{\"nodes\":\"golden nodes\"}\n", hello + "{\"step\":{\"state\":\"perfect\"}}\n",
        hello + "{\"passed\":true}\n{\"passed\":true}\n", hello + "[]\n", hello + "{\"warn\":1,\"step\":2}\n",
        many, std::string(64u << 20, 'x')}) {
    TrialListener listener("1.0", TrialPart::Offline, report_);
    const Status heard = listener.hear(text);
    ASSERT_FALSE(heard.ok()) << text.substr(0, 100);
    EXPECT_NE(heard.error().detail<NotATrial>(), nullptr) << heard.error().to_line();
  }
}

TEST_F(TrialMessagesTest, WarningsAreFewAndPlain) {
  std::string text = hello_line("1.0");
  for (int i = 0; i < 1000; ++i) text += "{\"warn\":\"red\\u001b[31m\"}\n";
  ASSERT_TRUE(listener_.hear(text).ok());
  EXPECT_EQ(warnings_.size(), 100u);
  EXPECT_EQ(warnings_[0].find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace mist::catalog
