#include "action/query/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/fake_transport.h"
#include "testing/home_fixture.h"

namespace mist::action {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// An OCI registry that is away, and what is stored of its index.
class SearchWhileAway : public mist::testing::HomeFixture {
 protected:
  SearchWhileAway() {
    web_.otherwise([](const http::Request&, const Context&) {
      return error(ErrorKind::Retryable, "it does not answer");
    });
    const Status added =
        registries_.add(registry::registry_with_oci("team", "oci://reg.example/team"), Context());
    EXPECT_TRUE(added.ok()) << added.error().to_line();
  }
  void store(const std::string& state) {
    search::Entry web;
    web.path = "web";
    web.version = "1.0.0";
    auto database = search::Database::open(files, file_);
    ASSERT_TRUE(database.ok()) << database.error().to_line();
    ASSERT_TRUE(database->store("team", state, clock.now(), {{"00", "d0", {web}}}, {{"00", "d0"}}).ok());
  }
  std::vector<std::string> found() {
    const SearchDependencies dependencies{files, clock, events, registries_, file_};
    const auto packages = search_packages(dependencies, {.words = {"web"}}, Freshness::Known, Context());
    if (!packages) return {packages.error().to_line()};
    std::vector<std::string> references;
    for (const FoundPackage& each : *packages) references.push_back(each.reference);
    return references;
  }

  mist::testing::FakeTransport web_;
  const Path file_ = temp.path() / "search.db";
  registry::Registries registries_{registries_on(web_)};
};

// As an older version of this program stored it, or two runs with different configurations.
TEST_F(SearchWhileAway, AnIndexWithoutAStateIsSearchedUntilItIsReadAgain) {
  store("");
  EXPECT_THAT(found(), ElementsAre("team/web:1.0.0"));
  EXPECT_THAT(events.messages, Contains(HasSubstr("team is searched as it was read last")));
  EXPECT_THAT(found(), ElementsAre("team/web:1.0.0")) << "it is still there";
}

TEST_F(SearchWhileAway, TheIndexOfARegistryAtAnotherAddressIsNot) {
  store("oci oci://reg.example/other\nsha256:1");
  EXPECT_THAT(found(), IsEmpty());
  EXPECT_THAT(events.messages, Contains(HasSubstr("team can't be searched")));
}

}  // namespace
}  // namespace mist::action
