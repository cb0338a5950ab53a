// Which servers bases of repositories, and their submodules, are fetched from.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "registry/git_fixture.h"
#include "testing/http_server.h"

namespace mist::registry {
namespace {

using mist::testing::HttpServer;
using mist::testing::ServerReply;
using mist::testing::ServerRequest;
using ::testing::HasSubstr;

class BaseJudge : public testing::RegistryFixture {
 protected:
  Error refused(const BaseReference& base) {
    auto fetched = open().fetch_base(base, Context());
    EXPECT_FALSE(fetched.ok());
    return fetched ? error(ErrorKind::Internal, "no error") : std::move(fetched).error();
  }
};

TEST_F(BaseJudge, GitFollowsNoRedirectOfATrustedServer) {
  std::atomic<int> asked = 0;
  HttpServer inner([&](const ServerRequest&, ServerReply& reply) {
    ++asked;
    reply.respond(404);
  });
  HttpServer outer([&](const ServerRequest& request, ServerReply& reply) {
    reply.respond(302, "",
                  {{"Location", fmt::format("http://127.0.0.1:{}{}", inner.port(), request.target)}});
  });
  BaseReference base{fmt::format("http://127.0.0.1:{}/x.git", outer.port()), "main", ""};
  base.judge.trusts = [](const GitUrl&) { return true; };
  const Error failure = refused(base);
  EXPECT_EQ(failure.kind, ErrorKind::Invalid);
  EXPECT_THAT(failure.hint, HasSubstr("own address"));
  EXPECT_EQ(asked, 0);
  base.judge = {};
  refused(base);
  EXPECT_GT(asked, 0);
}

TEST_F(BaseJudge, WhoIsNotTrustedIsNotAsked) {
  std::atomic<int> asked = 0;
  HttpServer server([&](const ServerRequest&, ServerReply& reply) {
    ++asked;
    reply.respond(404);
  });
  BaseReference base{fmt::format("http://127.0.0.1:{}/x.git", server.port()), "main", ""};
  base.judge = {[](const GitUrl&) { return false; }, "the hint"};
  const Error failure = refused(base);
  EXPECT_EQ(failure.kind, ErrorKind::Forbidden);
  EXPECT_EQ(failure.hint, "the hint");
  EXPECT_EQ(asked, 0);
}

}  // namespace
}  // namespace mist::registry
