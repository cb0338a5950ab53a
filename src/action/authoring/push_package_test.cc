#include "action/authoring/push_package.h"

#include <gtest/gtest.h>

#include "testing/recorded_events.h"

namespace mist::action {
namespace {

class PreparePush : public ::testing::Test {
 protected:
  Result<PreparedPush> prepared(std::string_view version, std::string_view destination) {
    registry::PackageTree chart{
        {{"Chart.yaml", fmt::format("apiVersion: v2\nname: shop\nversion: \"{}\"\n", version)},
         {"templates/a.yaml", "a: 1\n"}}};
    const registry::PackageContent content(std::move(chart));
    return prepare_push(
        renderer,
        {content, registry::digest_of(content), registry::PackageRef(registry::LocalRef{"/shop"}), "/shop"},
        *oci::Reference::parse_destination(destination), {}, Context());
  }

  mist::testing::RecordedEvents events;
  package::Renderer renderer{{}, events};
};

TEST_F(PreparePush, WithoutATagItIsThePackagesVersion) {
  const auto push = prepared("1.4.0+b.5", "oci://reg.example/charts/shop");
  ASSERT_TRUE(push.ok()) << push.error().to_line();
  EXPECT_EQ(push->destination.tag, "1.4.0_b.5");
}

// It would be a part of a path that leads to another repository.
TEST_F(PreparePush, AVersionThatIsNoTagIsRefused) {
  const auto push = prepared("x/../../../other/manifests/y", "oci://reg.example/charts/shop");
  ASSERT_FALSE(push.ok());
  EXPECT_EQ(push.error().kind, ErrorKind::Invalid);
}

}  // namespace
}  // namespace mist::action
