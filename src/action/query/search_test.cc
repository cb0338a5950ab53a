#include "action/query/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "testing/fake_clock.h"
#include "testing/fake_transport.h"
#include "testing/recorded_events.h"
#include "testing/temp_dir.h"

namespace mist::action {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// An OCI registry that is away, and what is stored of its index.
class SearchWhileAway : public ::testing::Test {
 protected:
  SearchWhileAway() {
    const Status added =
        registries_.add(registry::registry_with_oci("team", "oci://reg.example/team"), Context());
    EXPECT_TRUE(added.ok()) << added.error().to_line();
  }
  static config::Paths paths_below(const Path& home) {
    config::Paths paths;
    paths.home = home;
    paths.config_file = home / "config.yaml";
    paths.state = home / "state";
    paths.cache = home / "cache";
    return paths;
  }
  static registry::OciAccess away() {
    return {.transport =
                [] {
                  auto web = std::make_unique<mist::testing::FakeTransport>();
                  web->otherwise([](const http::Request&, const Context&) {
                    return error(ErrorKind::Retryable, "it does not answer");
                  });
                  return web;
                },
            .environment = [](std::string_view) { return std::nullopt; }};
  }
  void store(const std::string& state) {
    search::Entry web;
    web.path = "web";
    web.version = "1.0.0";
    auto database = search::Database::open(files_, file_);
    ASSERT_TRUE(database.ok()) << database.error().to_line();
    ASSERT_TRUE(database->store("team", state, clock_.now(), {{"00", "d0", {web}}}, {{"00", "d0"}}).ok());
  }
  std::vector<std::string> found() {
    const SearchDependencies dependencies{files_, clock_, events_, registries_, file_};
    const auto packages = search_packages(dependencies, {.words = {"web"}}, Freshness::Known, Context());
    if (!packages) return {packages.error().to_line()};
    std::vector<std::string> references;
    for (const FoundPackage& each : *packages) references.push_back(each.reference);
    return references;
  }

  mist::testing::TempDir dir_;
  HostFileSystem files_;
  HostProcessRunner processes_;
  mist::testing::RecordedEvents events_;
  mist::testing::FakeClock clock_;
  const Path file_ = dir_.path() / "search.db";
  registry::Registries registries_{
      {files_, processes_, events_, paths_below(dir_.path() / "home"), clock_, away()}};
};

// As an older version of this program stored it, or two runs with different configurations.
TEST_F(SearchWhileAway, AnIndexWithoutAStateIsSearchedUntilItIsReadAgain) {
  store("");
  EXPECT_THAT(found(), ElementsAre("team/web:1.0.0"));
  EXPECT_THAT(events_.messages, Contains(HasSubstr("team is searched as it was read last")));
  EXPECT_THAT(found(), ElementsAre("team/web:1.0.0")) << "it is still there";
}

TEST_F(SearchWhileAway, TheIndexOfARegistryAtAnotherAddressIsNot) {
  store("oci oci://reg.example/other\nsha256:1");
  EXPECT_THAT(found(), IsEmpty());
  EXPECT_THAT(events_.messages, Contains(HasSubstr("team can't be searched")));
}

}  // namespace
}  // namespace mist::action
