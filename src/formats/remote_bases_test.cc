#include "formats/remote_bases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "crypto/digest.h"
#include "encoding/json.h"
#include "http/over_limit.h"
#include "testing/fake_transport.h"
#include "testing/home_fixture.h"

namespace mist::formats {
namespace {

using encoding::Value;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Pair;

// A package whose engine lacks what the test says, round after round, and the servers that are asked for it.
class RemoteBasesTest : public ::testing::Test {
 protected:
  using Fetched = Result<std::vector<resolve::LockedRemote>>;

  // The rounds are what the engine says is missing, as JSON; after the last nothing is.
  Fetched complete(const std::vector<std::string>& rounds) {
    std::size_t round = 0;
    const FindMissing missing = [&](const package::Source& asked, const Context&) -> Result<Value> {
      seen.push_back(std::get<package::Files>(asked.content));
      if (round == rounds.size()) return Value::array();
      return encoding::parse_json(rounds[round++]);
    };
    const RemoteDependencies dependencies{
        .registries = registries,
        .missing = missing,
        .transport = [&] { return std::make_unique<testing::ForwardingTransport>(web); },
        .lock = &lock};
    return fetch_remote_bases(dependencies, source, Context());
  }
  static constexpr const char* kOptions = ".mistletoe/kustomize.json";
  package::Files& files() { return std::get<package::Files>(source.content); }

  testing::TempDir dir;
  HostFileSystem disk;
  HostProcessRunner processes;
  testing::RecordedEvents events;
  SystemClock clock;
  config::Paths paths = testing::paths_below(dir.path());
  registry::Registries registries{{disk, processes, events, paths, clock}};
  testing::FakeTransport web;
  resolve::LockFile lock;
  std::vector<package::Files> seen;  // by the engine, in each round
  package::Source source{.reference = "oci://reg.example/shop:1.0.0",
                         .name = "shop",
                         .version = "1.0.0",
                         .digest = "sha256:0",
                         .content = package::Files{{"kustomization.yaml", "resources: []\n"}}};
};

TEST_F(RemoteBasesTest, NoMoreIsHeldThanAPackageMayBe) {
  web.otherwise([](const http::Request&, const Context&) {
    return http::Response{.status = 200, .body = std::string(30 << 20, 'x')};
  });
  const auto fetched =
      complete({R"([{"url": "https://files.example/1"}, {"url": "https://files.example/2"}])",
                R"([{"url": "https://files.example/3"}, {"url": "https://files.example/4"}])"});
  ASSERT_FALSE(fetched.ok());
  EXPECT_EQ(fetched.error().message, "oci://reg.example/shop:1.0.0 is larger than 64 MiB");
  EXPECT_EQ(web.count(), 3u) << "the fourth isn't fetched";
}

TEST_F(RemoteBasesTest, APackageBringsNothingAlongInThePlaceOfWhatIsFetched) {
  files()[".mistletoe/remote/0"] = "its own";
  files()[".mistletoe/remote/1/kustomization.yaml"] = "its own";
  // The engine's parser ignores case, also that of ſ.
  files()[kOptions] =
      R"({"root": "app", "reorder": "none", "remotes": [{"url": "https://files.example/1", "at": "a"}], )"
      R"("Remotes": [], "remote\u017f": [], "charts": [{"request": {}, "at": "b"}]})";
  web.reply(200, "fetched");
  const auto fetched = complete({R"([{"url": "https://files.example/1"}])"});
  ASSERT_TRUE(fetched.ok()) << fetched.error().to_line();
  ASSERT_EQ(fetched->size(), 1u);
  EXPECT_EQ(fetched->front().digest, crypto::sha256("fetched").str());
  EXPECT_THAT(seen.front(), ElementsAre(Pair(kOptions, "{\"root\":\"app\",\"reorder\":\"none\"}\n"),
                                        Key("kustomization.yaml")));
  EXPECT_THAT(files(),
              ElementsAre(Pair(kOptions,
                               "{\"root\":\"app\",\"reorder\":\"none\",\"remotes\":[{\"url\":\"https://"
                               "files.example/1\",\"at\":\".mistletoe/remote/0\"}]}\n"),
                          Pair(".mistletoe/remote/0", "fetched"), Key("kustomization.yaml")));
}

TEST_F(RemoteBasesTest, TheDigestIsOfWhatIsRendered) {
  files()[kOptions] = "{ \"root\": \"app\" }";
  ASSERT_TRUE(complete({}).ok());
  EXPECT_EQ(source.digest, "sha256:0") << "nothing was fetched, and the package is as it was";
  EXPECT_EQ(files()[kOptions], "{ \"root\": \"app\" }");
  files()[".mistletoe/remote/0"] = "its own";
  ASSERT_TRUE(complete({}).ok());
  EXPECT_NE(source.digest, "sha256:0");
}

TEST_F(RemoteBasesTest, AFileThatIsNotGivenOutMayBeARepository) {
  web.reply(401);
  const auto refused = complete({R"([{"url": "https://git.example/o/r/base?ref=v1"}])"});
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_THAT(seen[1][kOptions], HasSubstr("\"absent\":true")) << "the engine is told so";
  ASSERT_FALSE(refused.ok()) << "and knows no repository there";
  EXPECT_EQ(refused.error().kind, ErrorKind::Forbidden);
  EXPECT_THAT(refused.error().message, HasSubstr("the server answered 401"));
}

TEST_F(RemoteBasesTest, AServerThatFailsSaysNothingAboutAFile) {
  web.reply(503);
  const auto failed = complete({R"([{"url": "https://files.example/a/b/base"}])"});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, ErrorKind::Retryable);
  EXPECT_EQ(seen.size(), 1u);
}

TEST_F(RemoteBasesTest, WhereARepositoryIsAsLikelyAServerThatFailsLeadsToIt) {
  const std::vector<Error> failures{
      error(ErrorKind::Retryable, "git.example can't be reached"),
      error(ErrorKind::Forbidden, "the TLS certificate of git.example is not acceptable")};
  for (const char* url : {"https://git.example/o/r/base?ref=v1", "https://git.example/o/r/b?a=b&version=v1",
                          "https://git.example/o/r//base", "https://git.example/o/r.git/base"})
    for (const Error& failure : failures) {
      seen.clear();
      web.fail(failure);
      const auto failed = complete({fmt::format(R"([{{"url": "{}"}}])", url)});
      ASSERT_EQ(seen.size(), 2u) << url;
      EXPECT_THAT(seen[1][kOptions], HasSubstr("\"absent\":true")) << url;
      ASSERT_FALSE(failed.ok()) << "the engine knows no repository there: " << url;
      EXPECT_EQ(failed.error().kind, failure.kind) << url;
      EXPECT_EQ(failed.error().message, failure.message) << url;
    }
}

TEST_F(RemoteBasesTest, HttpAloneLeadsToARepositoryToo) {
  (void)complete({R"([{"url": "http://github.com/o/r?ref=v1"}])"});
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_THAT(seen[1][kOptions], HasSubstr("\"absent\":true"));
  EXPECT_EQ(web.count(), 0u);
}

TEST_F(RemoteBasesTest, NoRepositoryIsLookedForWhenTimeIsOverOrAFileIsThere) {
  for (const Error& failure : {error(ErrorKind::Cancelled, "stopped"),
                               error(ErrorKind::Invalid, "too large").with_detail(http::OverLimit())}) {
    seen.clear();
    web.fail(failure);
    const auto failed = complete({R"([{"url": "https://git.example/o/r/base?ref=v1"}])"});
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().kind, failure.kind);
    EXPECT_EQ(seen.size(), 1u);
  }
}

TEST_F(RemoteBasesTest, AnOutageStaysOneWhereThereIsNoRepository) {
  // git isn't asked for an address of this machine.
  const std::string repository = R"([{"repo": "https://127.0.0.1/o/r", "ref": "v1", "path": "base"}])";
  for (const auto& [status, kind] :
       {std::pair(503, ErrorKind::Retryable), std::pair(401, ErrorKind::Forbidden)}) {
    web.reply(status);
    const auto failed = complete({R"([{"url": "https://127.0.0.1/o/r/base?ref=v1"}])", repository});
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().kind, kind);
    EXPECT_EQ(failed.error().message, "https://127.0.0.1/o/r is not a repository of the Internet");
    EXPECT_THAT(failed.error().frames.front(), HasSubstr(fmt::format("the server answered {}", status)));
  }
  web.reply(503);
  const auto other = complete({R"([{"url": "https://127.0.0.1/o/raw/base?ref=v1"}])", repository});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().kind, ErrorKind::Forbidden) << "a file of the same server that isn't in it";
}

TEST_F(RemoteBasesTest, ALockedFileStaysAFile) {
  lock.set_remotes({{.name = "https://files.example/a/b", .commit = {}, .digest = "sha256:1"}});
  web.reply(403).reply(404);
  const auto refused = complete({R"([{"url": "https://files.example/a/b"}])"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Forbidden);
  const auto lost = complete({R"([{"url": "https://files.example/a/b"}])"});
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().kind, ErrorKind::Conflict);
  EXPECT_EQ(seen.size(), 2u) << "the engine isn't asked again";
}

TEST_F(RemoteBasesTest, ALockedRepositoryStaysARepository) {
  const auto is_asked_for = [&](const std::string& name, const std::string& url) {
    seen.clear();
    lock.set_remotes({{.name = name, .commit = std::string(40, 'a'), .digest = {}}});
    EXPECT_TRUE(complete({fmt::format(R"([{{"url": "{}"}}])", url)}).ok()) << url;
    return seen.size() != 2 || !seen[1][kOptions].contains("\"absent\":true");
  };
  web.otherwise([](const http::Request&, const Context&) {
    return http::Response{.status = 200, .body = "kind: ConfigMap\n"};
  });
  EXPECT_FALSE(is_asked_for("https://git.example/o/r//base?ref=v1", "https://git.example/o/r/base?ref=v1"));
  EXPECT_FALSE(is_asked_for("https://git.example/o/r", "https://u:p@Git.Example/o/r/"));
  EXPECT_FALSE(is_asked_for("https://github.com/o/r?ref=v1", "http://github.com/o/r?ref=v1"));
  EXPECT_FALSE(is_asked_for("me@github.com:o/r//base", "https://me@github.com/o/r/base"));
  EXPECT_EQ(web.count(), 0u);
  EXPECT_TRUE(is_asked_for("https://git.example/o/r//base?ref=v1", "https://git.example/o/r/bases?ref=v1"));
  EXPECT_TRUE(is_asked_for("https://git.example/o/r//base?ref=v1", "https://files.example/o/r/base?ref=v1"));
  EXPECT_EQ(web.count(), 2u);
}

TEST_F(RemoteBasesTest, AnAddressThatIsNoFileCountsOnce) {
  const auto needs = [](std::string_view path, int count) {
    std::string list;
    for (int i = 0; i < count; ++i)
      list += fmt::format(R"({}{{"url": "https://files.example/{}/{}"}})", i == 0 ? "" : ", ", path, i);
    return fmt::format("[{}]", list);
  };
  web.otherwise([](const http::Request& request, const Context&) {
    return http::Response{.status = request.url.contains("/absent/") ? 404 : 200, .body = "kind: A\n"};
  });
  const auto most = complete({needs("absent", 200), needs("there", 200)});
  EXPECT_TRUE(most.ok()) << most.error().to_line();
  for (const auto& [absent, there, fetched] : {std::tuple(200, 201, 200), std::tuple(401, 0, 0)}) {
    const auto endless = complete({needs("absent", absent), needs("there", there)});
    ASSERT_FALSE(endless.ok());
    EXPECT_EQ(endless.error().message, "oci://reg.example/shop:1.0.0 names remote bases without end");
    EXPECT_EQ(endless.error().because, fmt::format("{} were fetched, in 40 rounds at most", fetched));
  }
}

TEST_F(RemoteBasesTest, AddressesThatAreNoFilesTakeNoLevelsAway) {
  web.otherwise([](const http::Request& request, const Context&) {
    return http::Response{.status = request.url.contains("/absent/") ? 404 : 200, .body = "kind: A\n"};
  });
  std::vector<std::string> rounds;
  for (int i = 0; i < 19; ++i)
    for (const char* path : {"absent", "there"})
      rounds.push_back(fmt::format(R"([{{"url": "https://files.example/{}/{}"}}])", path, i));
  EXPECT_TRUE(complete(rounds).ok());
  for (int i = 0; i < 2; ++i) rounds.push_back(rounds.front());
  EXPECT_FALSE(complete(rounds).ok());
}

}  // namespace
}  // namespace mist::formats
