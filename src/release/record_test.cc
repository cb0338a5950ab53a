#include "release/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "release/record_secrets.h"

namespace mist::release {
namespace {

TEST(ReleaseName, IsALabel) {
  EXPECT_TRUE(ReleaseName::parse("my-namespace").ok());
  for (const char* bad : {"", "A", "-a", "a.b", "a_b", "../x"})
    EXPECT_EQ(ReleaseName::parse(bad).error().kind, ErrorKind::Usage) << bad;
  EXPECT_FALSE(ReleaseName::parse(std::string(64, 'a')).ok());
}

TEST(ReleaseId, IsReadAsItIsShown) {
  const ReleaseId id{"default", "web"};
  EXPECT_EQ(ReleaseId::parse(id.display()), id);
  for (const char* bad : {"", "web", "/web", "default/", "a/b/c", "A/b", "default/W"})
    EXPECT_FALSE(ReleaseId::parse(bad)) << bad;
}

TEST(ApplySetId, IsThatOfKep3659) {
  // base64url(sha256("mistletoe.web.default.Secret.")) without padding, as the KEP's algorithm gives it.
  EXPECT_EQ(apply::apply_set_id({"default", "web"}), apply::apply_set_id({"default", "web"}));
  EXPECT_NE(apply::apply_set_id({"default", "web"}), apply::apply_set_id({"other", "web"}));
  EXPECT_THAT(apply::apply_set_id({"default", "web"}), ::testing::MatchesRegex("applyset-[A-Za-z0-9_-]+-v1"));
  EXPECT_LE(apply::apply_set_id({"default", "web"}).size(), 63u) << "it is a label value";
}

TEST(Revision, SurvivesItsJsonForm) {
  Revision revision;
  revision.number = 3;
  revision.action = "upgrade";
  revision.attempt = "ab12";
  revision.package = {"r/p:1.0.0", "p", "1.0.0", "sha256:00"};
  revision.user_values = Value::object({{"a", 1}});
  revision.options = Value::object({{"x", true}});
  revision.notes = "open http://web";
  revision.objects.push_back({*apimachinery::Object::from_value(Value::object(
                                  {{"apiVersion", "v1"},
                                   {"kind", "ConfigMap"},
                                   {"metadata", Value::object({{"name", "c"}, {"namespace", "n"}})}})),
                              "f.yaml", 7, "", "platform → db"});
  revision.package.call_tree = {{{"", ""}, "db", {"m/db", "shop-db"}, "1.0.0"},
                                {{"m/db", "shop-db"}, "tls", {"m/tls", "t"}, ""}};
  revision.package.signers = {{"oci://reg.example/team/p", {"sha256:1", "sha256:2"}}};
  revision.inventory.push_back({.key = {{"", "ConfigMap"}, "n", "c"},
                                .version = "v1",
                                .uid = "u",
                                .revision = 2,
                                .retained = true,
                                .adopted = true,
                                .taken_from = "n/theirs",
                                .server_made = {{".spec.image", "0123"}}});
  const auto back = revision_from_value(to_value(revision));
  ASSERT_TRUE(back.ok()) << back.error().to_line();
  EXPECT_EQ(back->number, 3);
  EXPECT_EQ(back->package.reference, "r/p:1.0.0");
  EXPECT_EQ(back->user_values, revision.user_values);
  EXPECT_EQ(back->notes, "open http://web");
  EXPECT_EQ(back->objects[0].line, 7u);
  EXPECT_EQ(back->objects[0].package, "platform → db");
  EXPECT_EQ(back->package.call_tree, revision.package.call_tree);
  EXPECT_EQ(back->package.signers, revision.package.signers);
  EXPECT_EQ(back->inventory[0].key.display(), "ConfigMap n/c");
  EXPECT_TRUE(back->inventory[0].retained && back->inventory[0].adopted);
  EXPECT_EQ(back->inventory[0].revision, 2);
  EXPECT_EQ(back->inventory[0].taken_from, "n/theirs");
  EXPECT_EQ(back->inventory[0].server_made, (std::vector<ServerMade>{{".spec.image", "0123"}}));
}

TEST(Revision, NewerOrDamagedRecordsAreRefused) {
  Value value = to_value(Revision{});
  value.set("format", kRecordFormat + 1);
  EXPECT_EQ(revision_from_value(value).error().kind, ErrorKind::Invalid);
  EXPECT_EQ(revision_from_value(Value::object({{"format", 1}})).error().kind, ErrorKind::Internal);
  EXPECT_EQ(revision_from_value(Value("text")).error().kind, ErrorKind::Internal);
}

// As a server would never answer, and one that isn't may.
TEST(Anchor, ASecretWithoutMetadataHasLostItsHead) {
  const Value secret = Value::object(
      {{"kind", "Secret"}, {"type", "mistletoe.dev/release"}, {"data", Value::object({{"seal", "eA=="}})}});
  const auto anchor = anchor_from_secret(secret, {"shop", "web"});
  ASSERT_TRUE(anchor.ok()) << anchor.error().to_line();
  EXPECT_TRUE(anchor->head_lost);
  EXPECT_FALSE(anchor->damage.empty());
}

TEST(Head, SurvivesItsJsonForm) {
  const Head head{.latest = 4,
                  .deployed = 3,
                  .status = RevisionStatus::Failed,
                  .action = "upgrade",
                  .updated = "t",
                  .package = "p",
                  .package_version = "1",
                  .objects = 9};
  EXPECT_EQ(head_from_value(to_value(head)), head);
  EXPECT_EQ(lock_from_value(Value()), std::nullopt);
}

}  // namespace
}  // namespace mist::release
