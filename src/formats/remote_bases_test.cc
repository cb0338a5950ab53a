#include "formats/remote_bases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "crypto/digest.h"
#include "encoding/json.h"
#include "testing/fake_transport.h"
#include "testing/forwarding_transport.h"
#include "testing/recorded_events.h"
#include "testing/temp_dir.h"

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
    const RemoteWorld world{.registries = registries,
                            .missing = missing,
                            .transport = [&] { return std::make_unique<testing::ForwardingTransport>(web); },
                            .lock = &lock};
    return fetch_remote_bases(world, source, Context());
  }
  static config::Paths paths_below(const Path& home) {
    config::Paths paths;
    paths.home = home;
    paths.config_file = home / "config.yaml";
    paths.state = home / "state";
    paths.cache = home / "cache";
    return paths;
  }
  static constexpr const char* kOptions = ".mistletoe/kustomize.json";
  package::Files& files() { return std::get<package::Files>(source.content); }

  testing::TempDir dir;
  HostFileSystem disk;
  HostProcessRunner processes;
  testing::RecordedEvents events;
  SystemClock clock;
  config::Paths paths = paths_below(dir.path());
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
  const auto failed = complete({R"([{"url": "https://git.example/o/r/base?ref=v1"}])"});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, ErrorKind::Retryable);
  EXPECT_EQ(seen.size(), 1u);
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
  lock.set_remotes(
      {{.name = "https://git.example/o/r//base?ref=v1", .commit = std::string(40, 'a'), .digest = {}}});
  web.reply(200, "kind: ConfigMap\n");
  const auto replaced = complete({R"([{"url": "https://git.example/o/r/base?ref=v1"}])"});
  ASSERT_FALSE(replaced.ok());
  EXPECT_EQ(replaced.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(replaced.error().to_line(),
              AllOf(HasSubstr("is not what mistletoe.lock of"), HasSubstr("it was a repository")));
}

}  // namespace
}  // namespace mist::formats
