#include "registry/published_tag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "registry/oci_copy.h"
#include "registry/oci_fixture.h"
#include "registry/oci_packages.h"
#include "registry/oci_tags.h"
#include "testing/recorded_events.h"

namespace mist::registry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MemoryRegistry;

// Somebody else who publishes under the same tag of reg.example, when a test says so.
class PublishedTag : public ::testing::Test {
 protected:
  static oci::Reference reference(std::string_view text) { return *oci::Reference::parse_destination(text); }
  static bool is_about_tag(const http::Request& request, std::string_view method) {
    return request.method == method && request.url.find("/manifests/sha256:") == std::string::npos &&
           request.url.find("/manifests/") != std::string::npos;
  }
  // When a request with `method` for the tag arrives for the `count`th time, before it is answered.
  void others_publish_at(std::string_view method, int count) {
    registry.before = [this, method, count,
                       seen = 0](const http::Request& request) mutable -> std::optional<http::Response> {
      if (is_about_tag(request, method) && ++seen == count)
        registry.publish(request.url.substr(request.url.rfind('/') + 1), theirs);
      return std::nullopt;
    };
  }
  std::size_t puts() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        registry.web.requests(), [](const http::Request& each) { return is_about_tag(each, "PUT"); }));
  }
  Result<PushReport> push(std::string_view tag, Overwrite overwrite = Overwrite::No) {
    return push_artifact(client, reference(fmt::format("oci://reg.example/team/shop:{}", tag)), ours,
                         overwrite, Context());
  }
  static std::vector<std::string> warnings(const PushReport& report) {
    mist::testing::RecordedEvents events;
    warn_of_tag(events, report.pushed, report.after);
    return events.messages;
  }
  void expect_lost(const Error& failure) {
    EXPECT_EQ(failure.kind, ErrorKind::Conflict);
    EXPECT_THAT(failure.message, HasSubstr("was published by somebody else at the same time"));
    EXPECT_THAT(failure.because, HasSubstr(ours.digest.str()));
    EXPECT_THAT(failure.because, HasSubstr(theirs.digest.str()));
    EXPECT_THAT(failure.hint, HasSubstr("push yours as another version"));
  }

  const oci::Artifact ours = oci::module_artifact(std::string("\0asm\1\0\0\0", 8), {});
  const oci::Artifact theirs = oci::tree_artifact("archive", {});
  MemoryRegistry registry;
  OciClient client = registry.client();
};

TEST_F(PublishedTag, AVersionThatOthersPublishDuringTheUploadIsNotReplaced) {
  others_publish_at("HEAD", 2);
  const auto pushed = push("1.4.0");
  ASSERT_FALSE(pushed.ok());
  EXPECT_EQ(pushed.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(pushed.error().message, HasSubstr("is published already, with other content"));
  EXPECT_EQ(registry.manifests.at("1.4.0"), theirs.manifest);
  EXPECT_EQ(puts(), 0u);
}

TEST_F(PublishedTag, AVersionThatOthersPublishAfterItIsAConflict) {
  others_publish_at("HEAD", 3);
  const auto pushed = push("1.4.0");
  ASSERT_FALSE(pushed.ok());
  expect_lost(pushed.error());
  EXPECT_EQ(registry.manifests.at("1.4.0"), theirs.manifest);
  EXPECT_EQ(puts(), 1u);
}

TEST_F(PublishedTag, TheSameContentFromOthersIsNoConflict) {
  registry.before = [this, seen = 0](const http::Request& request) mutable -> std::optional<http::Response> {
    if (is_about_tag(request, "HEAD") && ++seen == 2) registry.publish("1.4.0", ours);
    return std::nullopt;
  };
  const auto pushed = push("1.4.0");
  ASSERT_TRUE(pushed.ok()) << pushed.error().to_line();
  EXPECT_FALSE(pushed->after.replaced_by);
  EXPECT_EQ(puts(), 0u);
}

TEST_F(PublishedTag, OfATagThatMayMoveItIsReported) {
  others_publish_at("HEAD", 2);
  const auto pushed = push("prod");
  ASSERT_TRUE(pushed.ok()) << pushed.error().to_line();
  ASSERT_EQ(pushed->after.replaced_by, theirs.digest);
  EXPECT_THAT(
      warnings(*pushed),
      ElementsAre(fmt::format(
          "oci://reg.example/team/shop:prod is {} now, not {}: somebody else moved it at the same time",
          theirs.digest.str(), ours.digest.str())));
}

TEST_F(PublishedTag, SoItIsOfAVersionThatIsToBeReplaced) {
  registry.publish("1.4.0", theirs);
  ASSERT_TRUE(push("1.4.0", Overwrite::Yes).ok());
  EXPECT_EQ(registry.manifests.at("1.4.0"), ours.manifest);
  registry.publish("1.4.0", theirs);
  others_publish_at("HEAD", 2);
  const auto pushed = push("1.4.0", Overwrite::Yes);
  ASSERT_TRUE(pushed.ok()) << pushed.error().to_line();
  EXPECT_EQ(pushed->after.replaced_by, theirs.digest);
}

TEST_F(PublishedTag, ARegistryThatTakesAManifestAndLosesItIsAnError) {
  registry.before = [](const http::Request& request) -> std::optional<http::Response> {
    if (request.method != "PUT" || request.url.find("/manifests/") == std::string::npos) return std::nullopt;
    return http::Response{.status = 201, .headers = {}, .body = {}};
  };
  for (const std::string_view tag : {"1.4.0", "prod"}) {
    const auto pushed = push(tag);
    ASSERT_FALSE(pushed.ok()) << tag;
    EXPECT_EQ(pushed.error().kind, ErrorKind::Retryable);
    EXPECT_THAT(pushed.error().message, HasSubstr("which it took"));
    EXPECT_THAT(pushed.error().because, HasSubstr(ours.digest.str()));
  }
}

TEST_F(PublishedTag, ATagThatDoesNotShowYetIsAWarning) {
  registry.before = [](const http::Request& request) -> std::optional<http::Response> {
    if (!is_about_tag(request, "HEAD")) return std::nullopt;
    return http::Response{.status = 404, .headers = {}, .body = {}};
  };
  for (const std::string_view tag : {"1.4.0", "prod"}) {
    const auto pushed = push(tag);
    ASSERT_TRUE(pushed.ok()) << pushed.error().to_line();
    EXPECT_FALSE(pushed->after.replaced_by);
    EXPECT_THAT(warnings(*pushed), ElementsAre(HasSubstr("doesn't show it under the tag")));
  }
  registry.before = {};
  EXPECT_THAT(warnings(*push("1.4.0")), IsEmpty());
}

TEST(TagHistory, OnlyOthersWhoWroteAreNamed) {
  TagHistory lost;
  for (int i = 0; i < 3; ++i) lost.read("");
  EXPECT_EQ(lost.failure("it did not stay", "tag", "sign it again").kind, ErrorKind::Retryable);
  EXPECT_EQ(lost.failure("it did not stay", "tag", "sign it again").to_line(),
            "it did not stay (the registry took tag, and doesn't have it)");
  TagHistory stale;
  for (int i = 0; i < 3; ++i) stale.read("a");
  EXPECT_EQ(stale.failure("it did not stay", "tag", "sign it again").kind, ErrorKind::Retryable);
  TagHistory others;
  for (const char* const text : {"", "a", "a"}) others.read(text);
  EXPECT_EQ(others.failure("it did not stay", "tag", "sign it again").kind, ErrorKind::Conflict);
  EXPECT_THAT(others.failure("it did not stay", "tag", "sign it again").to_line(),
              HasSubstr("others wrote tag at the same time"));
}

TEST_F(PublishedTag, APushOfAVersionAsksThreeTimesForItsTag) {
  const auto asks = [&] {
    return std::ranges::count_if(registry.web.requests(),
                                 [](const http::Request& each) { return is_about_tag(each, "HEAD"); });
  };
  ASSERT_TRUE(push("1.4.0").ok());
  EXPECT_EQ(asks(), 3);
  EXPECT_EQ(registry.web.count(), 3u + 2 * ours.blobs.size() + 1);
  ASSERT_TRUE(push("1.4.0").ok());
  EXPECT_EQ(asks(), 4) << "it was there";
  ASSERT_TRUE(push("prod").ok());
  EXPECT_EQ(asks(), 6) << "a tag that may move needs no second look";
}

TEST_F(PublishedTag, ACopyIsHeldToTheSame) {
  MemoryRegistry source;
  source.publish("1.4.0", ours);
  source.reach("mirror.example", registry);
  OciClient both = source.client();
  const auto copy = [&] {
    return copy_artifact(both, both, reference("oci://reg.example/team/shop:1.4.0"),
                         reference("oci://mirror.example/far/shop"), {}, Context());
  };
  others_publish_at("HEAD", 2);
  const auto refused = copy();
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("is published already, with other content"));
  EXPECT_EQ(registry.manifests.at("1.4.0"), theirs.manifest);
  registry.manifests.erase("1.4.0");
  others_publish_at("HEAD", 3);
  const auto lost = copy();
  ASSERT_FALSE(lost.ok());
  expect_lost(lost.error());
}

TEST_F(PublishedTag, SoIsATagThatIsGiven) {
  registry.publish("1.4.0-rc1", ours);
  others_publish_at("HEAD", 2);
  const auto tagged = tag_artifact(client, reference("oci://reg.example/team/shop:1.4.0-rc1"), "1.4.0",
                                   Overwrite::No, Context());
  ASSERT_FALSE(tagged.ok());
  expect_lost(tagged.error());
  others_publish_at("HEAD", 2);
  const auto moved = tag_artifact(client, reference("oci://reg.example/team/shop:1.4.0-rc1"), "prod",
                                  Overwrite::No, Context());
  ASSERT_TRUE(moved.ok()) << moved.error().to_line();
  EXPECT_EQ(moved->after.replaced_by, theirs.digest);
}

}  // namespace
}  // namespace mist::registry
