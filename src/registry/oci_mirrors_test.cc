#include "registry/oci_mirrors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <variant>

#include "oci/signature.h"
#include "registry/oci_copy.h"
#include "registry/oci_fixture.h"
#include "registry/oci_packages.h"
#include "testing/recorded_events.h"
#include "testing/temp_dir.h"

namespace mist::registry {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MemoryRegistry;
using testing::repository_of;

// origin.example is what references name; mirror.example has copies of some of it.
class OciMirrors : public ::testing::Test {
 protected:
  OciMirrors() {
    web.otherwise([this](const http::Request& request, const Context& context) -> Result<http::Response> {
      const bool to_mirror = request.url.starts_with("https://mirror.example/");
      return (to_mirror ? mirror : origin).web.send(request, context);
    });
    origin.publish("1.4.0", module);
    origin.publish("1.5.0", tree);
    mirror.publish("1.4.0", module);
  }

  std::unique_ptr<MirroredSource> source(bool only = false, std::string prefix = "origin.example",
                                         std::string place = "oci://mirror.example/copies") {
    auto made = MirroredSource::make(client, {{std::move(prefix), {std::move(place)}, only}},
                                     {files, events, temp.path(), first_answer});
    EXPECT_TRUE(made.ok()) << made.error().to_line();
    return *std::move(made);
  }

  const oci::Artifact module = oci::module_artifact(std::string("\0asm\1\0\0\0", 8), {});
  const oci::Artifact tree = oci::tree_artifact("archive", {});
  const oci::Repository shop = repository_of("oci://origin.example/team/shop");
  Duration first_answer = std::chrono::seconds(15);
  MemoryRegistry origin, mirror;
  mist::testing::FakeTransport web;
  mist::testing::TempDir temp;
  mist::testing::RecordedEvents events;
  HostFileSystem files;
  OciClient client{web,
                   [](const std::string&, const std::string&,
                      const Context&) -> Result<std::optional<Login>> { return std::optional<Login>(); },
                   {.resolve = [](const std::string&) -> Result<std::vector<std::string>> {
                     return std::vector<std::string>{"1.1.1.1"};
                   }}};
};

TEST_F(OciMirrors, WhatAMirrorHasIsNotAskedOfTheRegistry) {
  const auto mirrored = source();
  ASSERT_TRUE(mirrored->manifest(shop, "1.4.0", Context()).ok());
  ASSERT_TRUE(mirrored->blob(shop, module.blobs[1].descriptor, 100, Context()).ok());
  EXPECT_EQ(origin.web.count(), 0u);
  EXPECT_THAT(mirror.asked(), ElementsAre(HasSubstr("/v2/copies/team/shop/manifests/1.4.0"),
                                          HasSubstr("/v2/copies/team/shop/blobs/")));
}

TEST_F(OciMirrors, WhatItLacksComesFromTheRegistry) {
  const auto mirrored = source();
  EXPECT_EQ(mirrored->manifest(shop, "1.5.0", Context())->bytes, tree.manifest);
  EXPECT_EQ(*mirrored->blob(shop, tree.blobs[1].descriptor, 100, Context()), "archive");
  EXPECT_TRUE(events.messages.empty());
}

TEST_F(OciMirrors, ARangeIsResolvedWhereAVersionFitsIt) {
  const auto mirrored = source();
  const auto tag_of = [&](std::string_view range) {
    const auto reference = oci::Reference::parse(fmt::format("oci://origin.example/team/shop:{}", range));
    const auto tagged = with_tag(*mirrored, *reference, Context());
    return tagged ? tagged->tag : tagged.error().to_line();
  };
  EXPECT_EQ(tag_of("^1.4"), "1.4.0");
  EXPECT_EQ(tag_of("^1.5"), "1.5.0");
}

TEST_F(OciMirrors, OnlyMirrorsAreAskedWhereTheConfigurationSaysSo) {
  const auto mirrored = source(true);
  ASSERT_TRUE(mirrored->manifest(shop, "1.4.0", Context()).ok());
  const auto missing = mirrored->manifest(shop, "1.5.0", Context());
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
  EXPECT_THAT(missing.error().to_line(), HasSubstr("mirrors of origin.example"));
  EXPECT_FALSE(mirrored->blob(shop, tree.blobs[1].descriptor, 100, Context()).ok());
  EXPECT_FALSE(*mirrored->find_manifest(shop, "1.5.0", Context()));
  mirror.away = true;
  EXPECT_EQ(mirrored->manifest(shop, "1.4.0", Context()).error().kind, ErrorKind::Retryable);
  EXPECT_EQ(origin.web.count(), 0u);
}

// It may have what is asked for, so nobody may take it for missing.
TEST_F(OciMirrors, TheOnlyMirrorThatFailedOnceIsNotOneThatLacksEverything) {
  mirror.away = true;
  const auto mirrored = source(true);
  for (int i = 0; i < 2; ++i) {
    const auto manifest = mirrored->manifest(shop, "1.4.0", Context());
    ASSERT_FALSE(manifest.ok());
    EXPECT_EQ(manifest.error().kind, ErrorKind::Retryable) << manifest.error().to_line();
    EXPECT_THAT(manifest.error().frames, Contains("while reading oci://origin.example/team/shop:1.4.0 from "
                                                  "oci://mirror.example/copies, a mirror of origin.example"));
  }
  const auto found = mirrored->find_manifest(shop, "1.5.0", Context());
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().kind, ErrorKind::Retryable);
  const auto referrers = mirrored->referrers(shop, crypto::sha256(module.manifest), {}, Context());
  ASSERT_FALSE(referrers.ok());
  EXPECT_EQ(referrers.error().kind, ErrorKind::Retryable);
  EXPECT_EQ(mirrored->tags(shop, Context()).error().kind, ErrorKind::Retryable);
  EXPECT_EQ(mirror.web.count(), 1u);
  EXPECT_EQ(events.messages.size(), 1u);
}

// The other one of two gave the manifest out, so it answers for the signatures.
TEST_F(OciMirrors, TheOnlyMirrorsThatAreLeftAnswerForWhatTheyHave) {
  auto made = MirroredSource::make(
      client, {{"origin.example", {"oci-layout:nowhere", "oci://mirror.example/copies"}, true}},
      {files, events, temp.path(), first_answer});
  ASSERT_TRUE(made.ok()) << made.error().to_line();
  MirroredSource& mirrored = **made;
  const crypto::Digest digest = crypto::sha256(module.manifest);
  ASSERT_TRUE(mirrored.manifest(shop, "1.4.0", Context()).ok());
  const auto signatures = mirrored.find_manifest(shop, oci::signature_tag(digest), Context());
  ASSERT_TRUE(signatures.ok()) << signatures.error().to_line();
  EXPECT_FALSE(*signatures);
  EXPECT_TRUE(mirrored.referrers(shop, digest, {}, Context()).ok());
  EXPECT_FALSE(mirrored.referrers(shop, crypto::sha256(tree.manifest), {}, Context()).ok());
}

// Nobody knows what the mirror would have said.
TEST_F(OciMirrors, AQuestionThatIsStoppedDoesNotMeanThatNothingIsAttached) {
  const crypto::Digest digest = crypto::sha256(module.manifest);
  for (const bool only : {true, false}) {
    const auto mirrored = source(only);
    ASSERT_TRUE(mirrored->manifest(shop, "1.4.0", Context()).ok());
    std::stop_source first, second;
    const auto stopped_by = [&](std::stop_source& stop) {
      mirror.web.next([&stop](const http::Request&, const Context&) -> Result<http::Response> {
        stop.request_stop();
        return error(ErrorKind::Cancelled, "stopped");
      });
      return Context(stop.get_token());
    };
    const auto signatures = mirrored->find_manifest(shop, oci::signature_tag(digest), stopped_by(first));
    ASSERT_FALSE(signatures.ok());
    EXPECT_EQ(signatures.error().kind, ErrorKind::Cancelled);
    const auto referrers = mirrored->referrers(shop, digest, {}, stopped_by(second));
    ASSERT_FALSE(referrers.ok());
    EXPECT_EQ(referrers.error().kind, ErrorKind::Cancelled);
  }
}

TEST_F(OciMirrors, AMirrorThatRefusesARepositoryIsAskedForOthers) {
  mirror.before = [](const http::Request& request) -> std::optional<http::Response> {
    if (request.url.find("/team/secret/") == std::string::npos) return std::nullopt;
    return http::Response{.status = 403, .headers = {}, .body = {}};
  };
  const auto mirrored = source(true);
  const oci::Repository secret = repository_of("oci://origin.example/team/secret");
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(mirrored->manifest(secret, "1.4.0", Context()).error().kind, ErrorKind::Forbidden);
  EXPECT_EQ(mirror.web.count(), 1u);
  const auto other = mirrored->manifest(shop, "1.4.0", Context());
  EXPECT_TRUE(other.ok()) << other.error().to_line();
}

TEST_F(OciMirrors, AMirrorThatIsAwayIsAskedOnce) {
  mirror.away = true;
  const auto mirrored = source();
  ASSERT_TRUE(mirrored->manifest(shop, "1.4.0", Context()).ok());
  ASSERT_TRUE(mirrored->manifest(shop, "1.5.0", Context()).ok());
  EXPECT_EQ(mirror.web.count(), 1u);
  EXPECT_THAT(events.messages, ElementsAre(HasSubstr("can't be used")));
}

// It accepts the connection and says nothing.
TEST_F(OciMirrors, AMirrorThatIsSilentIsLeftSoon) {
  mirror.silent = true;
  first_answer = std::chrono::milliseconds(20);
  const auto mirrored = source();
  ASSERT_TRUE(mirrored->manifest(shop, "1.4.0", Context()).ok());
  ASSERT_TRUE(mirrored->manifest(shop, "1.5.0", Context()).ok());
  EXPECT_EQ(mirror.web.count(), 1u);
  EXPECT_THAT(events.messages, ElementsAre(HasSubstr("can't be used")));
}

TEST_F(OciMirrors, AMirrorThatIsSilentEndsWithTheCommandsOwnTime) {
  mirror.silent = true;
  const auto found = source()->manifest(shop, "1.4.0", Context().with_timeout(std::chrono::milliseconds(20)));
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().kind, ErrorKind::Timeout);
  EXPECT_EQ(origin.web.count(), 0u);
}

TEST_F(OciMirrors, AMirrorWithOtherBytesIsPassedOver) {
  mirror.blobs[module.blobs[1].descriptor.digest.str()] = std::string("\0asm\1\0\0\1", 8);
  const auto mirrored = source();
  EXPECT_EQ(*mirrored->blob(shop, module.blobs[1].descriptor, 100, Context()), module.blobs[1].bytes);
  EXPECT_THAT(events.messages, ElementsAre(HasSubstr("is not what its digest says")));
}

// Each with what was asked for, and with the place that gave out something else.
TEST_F(OciMirrors, ErrorsNameTheMirrorThatSomethingFalseCameFrom) {
  const std::string mirror_name = "oci://mirror.example/copies, a mirror of origin.example";
  const auto mirrored = source(true);
  const auto raw = mirrored->manifest(shop, "1.4.0", Context());
  ASSERT_TRUE(raw.ok()) << raw.error().to_line();
  EXPECT_EQ(raw->mirror, mirror_name);
  mirror.blobs[module.blobs[1].descriptor.digest.str()] = std::string("\0asm\1\0\0\1", 8);
  const auto blob = mirrored->blob(shop, module.blobs[1].descriptor, 100, Context());
  ASSERT_FALSE(blob.ok());
  EXPECT_THAT(blob.error().to_line(), HasSubstr(fmt::format("is not what its digest says")));
  EXPECT_THAT(blob.error().frames,
              ElementsAre(fmt::format("while reading oci://origin.example/team/shop@{} from {}",
                                      module.blobs[1].descriptor.digest.str(), mirror_name)));
  const std::string digest = crypto::sha256(module.manifest).str();
  mirror.manifests[digest] = tree.manifest;
  const auto manifest = source(true)->manifest(shop, digest, Context());
  ASSERT_FALSE(manifest.ok());
  EXPECT_THAT(manifest.error().frames,
              ElementsAre(fmt::format("while reading oci://origin.example/team/shop@{} from {}", digest,
                                      mirror_name)));
  // A mirror that was named is not named again.
  EXPECT_EQ(naming_mirror<RawManifest>(manifest.error(), *raw, "it").error().frames.size(), 1u);
  EXPECT_EQ(naming_mirror<int>(error(ErrorKind::Invalid, "bad"), *raw, "it").error().frames.size(), 1u);
  EXPECT_TRUE(source(false)->manifest(shop, "1.5.0", Context())->mirror.empty());
}

// An index may be signed; the names in a layout are anybody's.
TEST_F(OciMirrors, AnIndexInALayoutLeadsToItsOwnManifest) {
  oci::Index index;
  index.manifests.push_back(oci::descriptor_of(oci::kManifestType, module.manifest));
  const crypto::Digest digest = origin.publish("multi", index.to_json());
  const Path layout = temp.path() / "layout";
  auto target = *LayoutWriter::open(files, layout, Context());
  for (const char* tag : {"multi", "1.5.0"}) {
    const auto from = *oci::Reference::parse(fmt::format("oci://origin.example/team/shop:{}", tag));
    ASSERT_TRUE(copy_artifact(client, *target, from, from, {}, Context()).ok());
  }
  ASSERT_TRUE(target->finish().ok());
  target.reset();
  const auto shop_of = [&](bool only) {
    const auto mirrored = source(only, "origin.example", "oci-layout:layout");
    const auto reference = *oci::Reference::parse("oci://origin.example/team/shop@" + digest.str());
    const auto raw = mirrored->manifest(shop, digest.str(), Context());
    EXPECT_TRUE(raw.ok()) << raw.error().to_line();
    return read_oci_package(*mirrored, reference, *raw, Context());
  };
  EXPECT_TRUE(shop_of(true).ok());

  std::string text = *files.read(layout / "index.json");
  const std::string inner = "origin.example/team/shop@" + module.digest.str();
  const std::string tagged = "origin.example/team/shop:1.5.0";
  text.replace(text.find(inner), inner.size(), "origin.example/team/shop:inner");
  text.replace(text.find(tagged), tagged.size(), inner);
  ASSERT_TRUE(files.write(layout / "index.json", text).ok());
  const auto refused = shop_of(true);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(refused.error().frames, ElementsAre(HasSubstr("oci-layout:")));
  const auto of_registry = shop_of(false);
  ASSERT_TRUE(of_registry.ok()) << of_registry.error().to_line();
  EXPECT_TRUE(std::holds_alternative<PackageModule>(*of_registry));
}

TEST_F(OciMirrors, AMirrorThatHasAManifestAnswersForWhatIsAttachedToIt) {
  const crypto::Digest mirrored_one = crypto::sha256(module.manifest), other = crypto::sha256(tree.manifest);
  origin.publish(oci::signature_tag(mirrored_one), tree.manifest);
  origin.publish(oci::signature_tag(other), module.manifest);
  for (const bool is_known : {true, false}) {
    const auto mirrored = source();
    if (is_known) {
      EXPECT_TRUE(mirrored->manifest(shop, "1.4.0", Context()).ok());
    }
    const std::size_t before = origin.web.count();
    EXPECT_FALSE(*mirrored->find_manifest(shop, oci::signature_tag(mirrored_one), Context()));
    EXPECT_TRUE(mirrored->referrers(shop, mirrored_one, {}, Context())->empty());
    EXPECT_EQ(origin.web.count(), before);
    // The policy may want more than that.
    ASSERT_NE(mirrored->behind(shop), nullptr);
    EXPECT_TRUE(*mirrored->behind(shop)->find_manifest(shop, oci::signature_tag(mirrored_one), Context()));
    // A mirror can't answer for a manifest that it lacks.
    EXPECT_TRUE(*mirrored->find_manifest(shop, oci::signature_tag(other), Context()));
  }
  EXPECT_EQ(source(true)->behind(shop), nullptr);
  EXPECT_EQ(source(false, "elsewhere.example")->behind(shop), nullptr);
}

TEST_F(OciMirrors, AMirrorThatFailsAnswersForNothing) {
  const crypto::Digest digest = crypto::sha256(module.manifest);
  origin.publish(oci::signature_tag(digest), tree.manifest);
  const auto mirrored = source();
  ASSERT_TRUE(mirrored->manifest(shop, "1.4.0", Context()).ok());
  mirror.away = true;
  EXPECT_TRUE(*mirrored->find_manifest(shop, oci::signature_tag(digest), Context()));
}

TEST_F(OciMirrors, ThePrefixDecides) {
  const auto other = source(false, "origin.example/tea");
  ASSERT_TRUE(other->manifest(shop, "1.4.0", Context()).ok());
  EXPECT_EQ(mirror.web.count(), 0u) << "a prefix ends where a segment ends";
  const auto exact = source(false, "ORIGIN.example:443/team/shop", "oci://mirror.example/x");
  ASSERT_TRUE(exact->manifest(shop, "1.4.0", Context()).ok());
  EXPECT_THAT(mirror.asked(), ElementsAre(HasSubstr("/v2/x/manifests/1.4.0")));
}

TEST_F(OciMirrors, ALayoutThatIsNotThereIsSaid) {
  const auto mirrored = source(false, "origin.example", "oci-layout:nowhere");
  ASSERT_TRUE(mirrored->manifest(shop, "1.4.0", Context()).ok());
  EXPECT_THAT(events.messages, ElementsAre(HasSubstr("nowhere")));
  const auto only = source(true, "origin.example", "oci-archive:nowhere.tar");
  EXPECT_FALSE(only->manifest(shop, "1.4.0", Context()).ok());
}

TEST(OciPlace, IsParsedAndPrinted) {
  for (const std::string_view text : {"oci://mirror.example/a", "oci-layout:./a", "oci-archive:/tmp/a.tar"})
    EXPECT_EQ(OciPlace::parse(text)->str(), text);
  EXPECT_EQ(OciPlace::parse("oci://mirror.example/")->prefix, "oci://mirror.example");
  for (const std::string_view text : {"", "oci:a", "oci-layout:", "oci://", "oci://A_B/c:1", "/tmp/a"})
    EXPECT_EQ(OciPlace::parse(text).error().kind, ErrorKind::Invalid) << text;
}

TEST(OciPlace, ShowsNoPassword) {
  for (const std::string& password : {std::string("hunter2"), "hunter2" + std::string(230, '2')}) {
    const std::string line = OciPlace::parse("https://u:" + password + "@h/x").error().to_line();
    EXPECT_THAT(line, HasSubstr("https://***@h/x"));
    EXPECT_THAT(line, ::testing::Not(HasSubstr("hunter")));
  }
}

// As somebody writes it who thinks of one package.
TEST(OciPlace, HasNoVersion) {
  for (const std::string& behind :
       {std::string(":1.0.0"), std::string(":^1"), "@sha256:" + std::string(64, 'a')}) {
    const auto refused = OciPlace::parse("oci://mirror.example/copies" + behind);
    ASSERT_FALSE(refused.ok()) << behind;
    EXPECT_EQ(refused.error().kind, ErrorKind::Invalid);
    EXPECT_EQ(refused.error().message,
              "'oci://mirror.example/copies" + behind + "' names one package, not a place for many");
    EXPECT_THAT(refused.error().because, HasSubstr("'" + behind + "'"));
  }
}

TEST(OciPlace, KeepsRegistriesApart) {
  const auto at = [](std::string_view repository) {
    return mirror_repository("oci://mirror.example/a", repository_of(repository))->str();
  };
  EXPECT_EQ(at("oci://Registry.example/team/shop"), "oci://mirror.example/a/registry.example/team/shop");
  EXPECT_EQ(at("oci://localhost:5000/shop"), "oci://mirror.example/a/localhost_5000/shop");
  EXPECT_EQ(at("oci://[::1]:5000/shop"), "oci://mirror.example/a/1_5000/shop");
  EXPECT_EQ(at("oci://docker.io/alpine"), "oci://mirror.example/a/docker.io/library/alpine");
}

}  // namespace
}  // namespace mist::registry
