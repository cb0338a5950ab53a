#include "catalog/task_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/database_fixture.h"
#include "catalog/sql_account_store.h"
#include "catalog/sql_store.h"
#include "catalog/sql_task_store.h"
#include "catalog/task_answers.h"
#include "catalog/task_client.h"
#include "catalog/token.h"
#include "testing/fake_clock.h"
#include "testing/fake_transport.h"
#include "testing/recorded_events.h"
#include "testing/temp_dir.h"

namespace mist::catalog {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A job of the queue, and its task; what a Pod asks reaches the catalog's answers.
class TaskStoreTest : public ::testing::TestWithParam<DatabaseKind> {
 protected:
  TaskStoreTest() {
    EXPECT_TRUE(accounts_->add("ann", Role::Author, "").ok());
    EXPECT_TRUE(store_
                    ->add_project({.name = "etcd",
                                   .owner = "ann",
                                   .url = "https://git.example.com/etcd",
                                   .webhook_secret = SecretString("s")})
                    .ok());
    NewVersion version{.package = "etcd", .version = "1.0.0", .tag = "v1", .commit = std::string(40, 'a')};
    version.digest = blobs_.put("the package")->str();
    EXPECT_TRUE(store_->submit(version).ok());
    job_ = **store_->lease("w1", 30s);
    web_.otherwise([this](const http::Request& asked, const Context&) -> Result<http::Response> {
      const std::string target = asked.url.substr(std::string("https://c.example").size());
      const auto question = target.find('?');
      http::WebRequest request{.method = asked.method,
                               .path = target.substr(0, question),
                               .query = question == target.npos ? "" : target.substr(question + 1),
                               .headers = {{"Authorization", asked.authorization->reveal()}},
                               .body = asked.body};
      const http::WebAnswer answer = answer_task({*tasks_, blobs_, events_}, request);
      return http::Response{.status = answer.status, .headers = {}, .body = answer.body};
    });
  }
  Status put(const std::string& token) {
    return tasks_->put(job_, token_digest(token), TrialRequest{.program = "1", .job = job_}.to_line());
  }
  TaskClient client(const std::string& token) {
    return TaskClient(web_, {.url = "https://c.example", .token = SecretString(token)});
  }
  std::vector<std::string> said(const std::string& token, std::int64_t from = 0) {
    auto pieces = tasks_->pieces(token_digest(token), from);
    EXPECT_TRUE(pieces.ok());
    return pieces.ok() ? *pieces : std::vector<std::string>();
  }

  mist::testing::TempDir dir_;
  mist::testing::FakeClock clock_;
  SystemRandom random_;
  HostFileSystem files_;
  mist::testing::RecordedEvents events_;
  const TestDatabase database_{GetParam(), dir_.path() / "a.db"};
  const std::shared_ptr<SqlConnections> connections_ = database_.open();
  const std::unique_ptr<AccountStore> accounts_ = account_store_in(connections_, clock_, random_);
  const std::unique_ptr<Store> store_ = *open_store(connections_, clock_, random_);
  const std::unique_ptr<TaskStore> tasks_ = task_store_in(connections_);
  FileBlobs blobs_{files_, dir_.path() / "blobs"};
  mist::testing::FakeTransport web_;
  Context context_ = Context().with_clock(clock_);
  Job job_;
};

TEST_P(TaskStoreTest, APodGetsItsTaskAndItsPackagesAndIsHeard) {
  ASSERT_TRUE(put("secret").ok());
  TaskClient pod = client("secret");
  const auto request = pod.request(context_);
  ASSERT_TRUE(request.ok()) << request.error().to_line();
  EXPECT_EQ(request->job.package, "etcd");
  FileBlobs fetched(files_, dir_.path() / "pod");
  ASSERT_TRUE(pod.fetch(request->job.digest, fetched, context_).ok());
  EXPECT_EQ(fetched.get(*crypto::Digest::parse(job_.digest)).value_or(""), "the package");
  const auto other = blobs_.put("of somebody else");
  EXPECT_EQ(pod.fetch(other->str(), fetched, context_).error().kind, ErrorKind::NotFound);
  ASSERT_TRUE(pod.say("one\n", false, context_).ok());
  EXPECT_FALSE((*tasks_->of_job(job_.id))->has_ended);
  ASSERT_TRUE(pod.say("two\n", true, context_).ok());
  EXPECT_THAT(said("secret"), ElementsAre("one\n", "two\n"));
  EXPECT_THAT(said("secret", 1), ElementsAre("two\n"));
  EXPECT_TRUE((*tasks_->of_job(job_.id))->has_ended);
  EXPECT_EQ(pod.say("three\n", false, context_).error().kind, ErrorKind::Invalid) << "it has ended";
}

TEST_P(TaskStoreTest, TheTokenIsForOneTaskOfAnOpenJobAlone) {
  EXPECT_EQ(client("token-of-a-pod").request(context_).error().kind, ErrorKind::NotFound);
  ASSERT_TRUE(put("token-of-a-pod").ok());
  EXPECT_EQ(client("wrong").request(context_).error().kind, ErrorKind::NotFound);
  EXPECT_EQ(database_.content().find("token-of-a-pod"), std::string::npos)
      << "its digest is kept, and no more";
  ASSERT_TRUE(put("another").ok());
  EXPECT_EQ(client("token-of-a-pod").say("late\n", false, context_).error().kind, ErrorKind::NotFound);
  ASSERT_TRUE(client("another").say("one\n", false, context_).ok());
  ASSERT_TRUE(tasks_->remove_over().ok());
  EXPECT_TRUE(*tasks_->of_job(job_.id)) << "its job is open";
  ASSERT_TRUE(store_->finish(job_, true).ok());
  EXPECT_EQ(client("another").say("two\n", false, context_).error().kind, ErrorKind::NotFound);
  EXPECT_EQ(put("third").error().kind, ErrorKind::Conflict);
  ASSERT_TRUE(tasks_->remove_over().ok());
  EXPECT_FALSE(*tasks_->of_job(job_.id));
  EXPECT_THAT(said("another"), IsEmpty());
}

TEST_P(TaskStoreTest, AWorkerThatLostItsJobMakesNoTask) {
  clock_.advance(31s);
  const Job second = **store_->lease("w2", 30s);
  EXPECT_EQ(put("secret").error().kind, ErrorKind::Conflict);
  job_ = second;
  ASSERT_TRUE(put("secret").ok());
  EXPECT_TRUE(tasks_->remove(job_.id, token_digest("other")).ok());
  EXPECT_TRUE(*tasks_->of_job(job_.id)) << "of another token";
  EXPECT_TRUE(tasks_->remove(job_.id, token_digest("secret")).ok());
  EXPECT_FALSE(*tasks_->of_job(job_.id));
}

TEST_P(TaskStoreTest, APieceWhoseAnswerWasLostIsKeptOnce) {
  ASSERT_TRUE(put("secret").ok());
  const std::string token = token_digest("secret");
  ASSERT_TRUE(tasks_->add_piece(token, 0, "one", false).ok());
  ASSERT_TRUE(tasks_->add_piece(token, 0, "one", false).ok());
  EXPECT_EQ(tasks_->add_piece(token, 2, "three", false).error().kind, ErrorKind::Conflict);
  EXPECT_EQ(tasks_->add_piece(token, 1, std::string(TaskStore::kMostPieceBytes + 1, 'a'), false).error().kind,
            ErrorKind::Invalid);
  EXPECT_EQ(tasks_->add_piece(token, TaskStore::kMostPieces, "a", false).error().kind, ErrorKind::Invalid);
  EXPECT_THAT(said("secret"), ElementsAre("one"));
}

TEST_P(TaskStoreTest, ALongLineIsSaidInPiecesThatAreText) {
  ASSERT_TRUE(put("secret").ok());
  // A character of two bytes lies across the end of the first piece.
  std::string line(TaskStore::kMostPieceBytes - 1, 'a');
  line += "é and more\n";
  ASSERT_TRUE(client("secret").say(line, true, context_).ok());
  const std::vector<std::string> pieces = said("secret");
  ASSERT_EQ(pieces.size(), 2U);
  EXPECT_EQ(pieces[0] + pieces[1], line);
  EXPECT_THAT(pieces[1], HasSubstr("é"));
}

TEST_P(TaskStoreTest, WhatIsNoTextIsRefused) {
  ASSERT_TRUE(put("secret").ok());
  TaskClient pod = client("secret");
  EXPECT_EQ(pod.say("\xff\xfe", false, context_).error().kind, ErrorKind::Invalid);
  EXPECT_EQ(pod.say(std::string("a\0b", 3), false, context_).error().kind, ErrorKind::Invalid);
  EXPECT_THAT(said("secret"), IsEmpty());
}

TEST_P(TaskStoreTest, APodWaitsForACatalogThatIsAway) {
  ASSERT_TRUE(put("secret").ok());
  web_.fail(error(ErrorKind::Retryable, "connection refused")).reply(503, "later");
  ASSERT_TRUE(client("secret").say("one\n", false, context_).ok());
  EXPECT_THAT(said("secret"), ElementsAre("one\n"));
  EXPECT_EQ(web_.count(), 3U);
  web_.otherwise([](const http::Request&, const Context&) -> Result<http::Response> {
    return error(ErrorKind::Retryable, "connection refused");
  });
  EXPECT_EQ(client("secret").say("two\n", false, context_).error().kind, ErrorKind::Retryable)
      << "its patience ends";
}

INSTANTIATE_TEST_SUITE_P(All, TaskStoreTest, each_database(), name_of_database);

}  // namespace
}  // namespace mist::catalog
