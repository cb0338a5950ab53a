#include "kube/auth_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/untrusted.h"
#include "testing/certificates.h"
#include "testing/fake_clock.h"
#include "testing/fake_transport.h"

namespace mist::kube {
namespace {

using mist::testing::FakeTransport;

// Gives the next credential after each refresh.
class Rotating final : public CredentialSource {
 public:
  explicit Rotating(std::vector<Credential> credentials) : credentials_(std::move(credentials)) {}
  Result<Credential> get(const Context&) override { return credentials_[at_]; }
  bool refresh(const Credential&) override {
    if (at_ + 1 == credentials_.size()) return false;
    ++at_;
    return true;
  }

 private:
  std::vector<Credential> credentials_;
  std::size_t at_ = 0;
};

Credential token(std::string text) { return {SecretString("Bearer " + std::move(text)), "", {}}; }

class AuthTransportTest : public ::testing::Test {
 protected:
  AuthTransport make(std::vector<Credential> credentials, const Impersonation& impersonation = {}) {
    return AuthTransport(
        std::make_unique<Rotating>(std::move(credentials)),
        std::make_unique<ClusterCa>([this]() -> Result<std::string> { return ca_file; }, ca_file, clock),
        [this](const AuthTransport::Identity& identity) {
          identities.push_back(identity.ca_pem + "|" + identity.certificate_pem + "|" +
                               identity.key_pem.reveal());
          return web;
        },
        impersonation, clock);
  }
  static Error untrusted() {
    return error(ErrorKind::Forbidden, "no trusted authority").with_detail(http::Untrusted());
  }
  mist::testing::FakeClock clock;
  std::shared_ptr<FakeTransport> web = std::make_shared<FakeTransport>();
  std::string ca_file = "ca";
  std::vector<std::string> identities;  // one for each transport that was made
};

TEST_F(AuthTransportTest, AsksForNewCredentialsOnceAfterARefusal) {
  web->reply(401).reply(200, "{}");
  AuthTransport transport = make({token("one"), token("two")});
  EXPECT_EQ(transport.send({}, {})->status, 200);
  const auto requests = web->requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].authorization->reveal(), "Bearer one");
  EXPECT_EQ(requests[1].authorization->reveal(), "Bearer two");
}

TEST_F(AuthTransportTest, GivesUpAfterTheSecondRefusalOrWithoutOthers) {
  web->reply(401).reply(401);
  AuthTransport transport = make({token("one"), token("two"), token("three")});
  EXPECT_EQ(transport.send({}, {})->status, 401);
  EXPECT_EQ(web->count(), 2u);
  web->reply(401);
  AuthTransport fixed = make({token("one")});
  EXPECT_EQ(fixed.stream({}, [](std::string_view) { return true; }, {})->status, 401);
  EXPECT_EQ(web->count(), 3u);
}

TEST_F(AuthTransportTest, KeepsTheTimeLimitOfARequest) {
  web->reply(200);
  AuthTransport transport = make({token("one")});
  http::Request request;
  request.time_limit = Duration::zero();
  EXPECT_EQ(transport.send(request, {}).error().kind, ErrorKind::Timeout);
  request.time_limit.reset();
  EXPECT_EQ(transport.send(request, {})->status, 200);
}

TEST_F(AuthTransportTest, NewClientCertificateMeansANewConnection) {
  web->reply(200).reply(401).reply(200);
  AuthTransport transport = make({{{}, "one", {}}, {{}, "two", {}}});
  EXPECT_EQ(transport.send({}, {})->status, 200);
  EXPECT_EQ(transport.send({}, {})->status, 200);
  EXPECT_THAT(identities, ::testing::ElementsAre("ca|one|", "ca|two|"));
}

TEST_F(AuthTransportTest, AKeyAloneMayBeRenewed) {
  web->reply(401).reply(200);
  AuthTransport transport = make({{{}, "one", SecretString("1")}, {{}, "one", SecretString("2")}});
  EXPECT_EQ(transport.send({}, {})->status, 200);
  EXPECT_THAT(identities, ::testing::ElementsAre("ca|one|1", "ca|one|2"));
}

TEST_F(AuthTransportTest, ANewAuthorityIsTrustedWithinAMinuteAndAtOnceWhereTheOldOneFails) {
  web->reply(200).reply(200);
  AuthTransport transport = make({token("one")});
  EXPECT_EQ(transport.send({}, {})->status, 200);
  ca_file = "new ca";
  clock.advance(std::chrono::minutes(1));
  EXPECT_EQ(transport.send({}, {})->status, 200);
  EXPECT_THAT(identities, ::testing::ElementsAre("ca||", "new ca||"));

  ca_file = "newest ca";
  web->fail(untrusted()).reply(200);
  EXPECT_EQ(transport.send({}, {})->status, 200);
  EXPECT_EQ(identities.back(), "newest ca||");
}

TEST_F(AuthTransportTest, AServerThatNobodyTrustsIsAskedOnce) {
  web->fail(untrusted());
  AuthTransport transport = make({token("one")});
  EXPECT_TRUE(http::is_untrusted(transport.send({}, {}).error()));
  EXPECT_EQ(web->count(), 1u);
  ca_file = "another ca";
  web->fail(untrusted()).fail(untrusted());
  EXPECT_TRUE(http::is_untrusted(transport.send({}, {}).error()));
  EXPECT_EQ(web->count(), 3u);
}

TEST_F(AuthTransportTest, AWriteThatTheServerMayHaveIsNotRepeatedWithANewAuthority) {
  AuthTransport transport = make({token("one")});
  ca_file = "new ca";
  web->fail(http::as_maybe_sent(untrusted()));
  const auto write = transport.send({.method = "POST"}, {});
  EXPECT_TRUE(http::maybe_acted_on(write.error()));
  EXPECT_EQ(web->count(), 1u);
  web->fail(http::as_maybe_sent(untrusted())).reply(200);
  EXPECT_EQ(transport.send({.repeat = http::Repeat::Safe}, {})->status, 200);
  EXPECT_EQ(web->count(), 3u);
}

TEST_F(AuthTransportTest, ARefusedCertificateThatHasExpiredIsNamed) {
  using std::chrono::seconds;
  const mist::testing::TestAuthority authority;
  const auto issue = [&](int ends) {
    return authority.issue({.common_name = "alice", .begins = seconds(-7200), .ends = seconds(ends)})
        .certificate_pem;
  };
  clock.advance(SystemClock().now() - clock.now());
  const auto refused = [&](const Credential& credential) {
    web->reply(401);
    AuthTransport transport = make({credential});
    return transport.send({}, {});
  };
  const auto old = refused({{}, issue(-3600), {}});
  ASSERT_FALSE(old.ok());
  EXPECT_EQ(old.error().kind, ErrorKind::Forbidden);
  EXPECT_THAT(old.error().message, ::testing::HasSubstr("the client certificate CN=alice ended at 20"));
  EXPECT_THAT(old.error().message, ::testing::HasSubstr(", 60m ago"));
  EXPECT_THAT(old.error().hint, ::testing::HasSubstr("log in again"));
  EXPECT_EQ(refused({{}, issue(3600), {}})->status, 401);
  EXPECT_EQ(refused({SecretString("Bearer x"), issue(-3600), {}})->status, 401)
      << "the token was refused too";
}

TEST_F(AuthTransportTest, SendsWhomItActsFor) {
  web->reply(200);
  Impersonation as;
  as.user = "bob";
  as.groups = {"admins", "devs"};
  as.uid = "7";
  as.extra = {{"a/b", "x"}};
  AuthTransport transport = make({token("one")}, as);
  ASSERT_TRUE(transport.send({}, {}).ok());
  std::string sent;
  const http::Request request = web->requests()[0];
  for (const http::Header& header : request.headers) sent += header.name + "=" + header.value + ";";
  EXPECT_EQ(sent,
            "Impersonate-User=bob;Impersonate-Uid=7;Impersonate-Group=admins;Impersonate-Group=devs;"
            "Impersonate-Extra-a%2Fb=x;");
}

}  // namespace
}  // namespace mist::kube
