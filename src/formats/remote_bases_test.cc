#include "formats/remote_bases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "encoding/json.h"
#include "testing/fake_transport.h"
#include "testing/forwarding_transport.h"
#include "testing/recorded_events.h"
#include "testing/temp_dir.h"

namespace mist::formats {
namespace {

using encoding::Value;

// A package whose engine lacks what the test says, round after round, and the servers that are asked for it.
class RemoteBasesTest : public ::testing::Test {
 protected:
  using Fetched = Result<std::vector<resolve::LockedRemote>>;

  // The rounds are what the engine says is missing, as JSON; after the last nothing is.
  Fetched complete(const std::vector<std::string>& rounds) {
    std::size_t round = 0;
    const FindMissing missing = [&](const package::Source&, const Context&) -> Result<Value> {
      if (round == rounds.size()) return Value::array();
      return encoding::parse_json(rounds[round++]);
    };
    const RemoteWorld world{.registries = registries, .missing = missing, .transport = [&] {
                              return std::make_unique<testing::ForwardingTransport>(web);
                            }};
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
  package::Files& files() { return std::get<package::Files>(source.content); }

  testing::TempDir dir;
  HostFileSystem disk;
  HostProcessRunner processes;
  testing::RecordedEvents events;
  SystemClock clock;
  config::Paths paths = paths_below(dir.path());
  registry::Registries registries{{disk, processes, events, paths, clock}};
  testing::FakeTransport web;
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

}  // namespace
}  // namespace mist::formats
