#include "registry/oci_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "oci/signature.h"
#include "registry/oci_fixture.h"
#include "registry/oci_tags.h"

namespace mist::registry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MemoryRegistry;

// Two registries that one client reaches: reg.example has what is copied to mirror.example.
class OciCopy : public ::testing::Test {
 protected:
  OciCopy() {
    registry.reach("mirror.example", mirror);
    registry.publish("1.4.0", module);
    registry.publish("x86", chart);
  }

  static oci::Reference reference(std::string_view text) { return *oci::Reference::parse_destination(text); }

  // The paths of what the mirror was sent, in order.
  std::vector<std::string> put() const {
    std::vector<std::string> paths;
    for (const http::Request& request : registry.web.requests())
      if (request.method == "PUT" && request.url.starts_with("https://mirror.example/"))
        paths.push_back(request.url.substr(request.url.find("/shop/") + 6));
    return paths;
  }

  const oci::Artifact module = oci::module_artifact(std::string("\0asm\1\0\0\0", 8), {});
  const oci::Artifact chart = oci::tree_artifact("archive", {});
  MemoryRegistry registry, mirror;
  OciClient client = registry.client();
};

TEST_F(OciCopy, TakesTheBytesAsTheyAre) {
  const auto report = copy_artifact(client, client, reference("oci://reg.example/team/shop:1.4.0"),
                                    reference("oci://mirror.example/far/shop"), {}, Context());
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->to.str(), "oci://mirror.example/far/shop:1.4.0@" + module.digest.str());
  EXPECT_EQ(mirror.manifests.at("1.4.0"), module.manifest);
  EXPECT_EQ(mirror.blobs.size(), 2u);
  for (const oci::Blob& blob : module.blobs)
    EXPECT_EQ(mirror.blobs.at(blob.descriptor.digest.str()), blob.bytes);
  EXPECT_EQ(report->blobs, 2u);
}

TEST_F(OciCopy, ASecondCopySendsNothing) {
  const oci::Reference from = reference("oci://reg.example/team/shop:1.4.0");
  const oci::Reference to = reference("oci://mirror.example/far/shop");
  const CopyOptions alone{.referrers = Referrers::No};
  ASSERT_TRUE(copy_artifact(client, client, from, to, alone, Context()).ok());
  const std::size_t before = registry.web.count();
  const auto again = copy_artifact(client, client, from, to, alone, Context());
  ASSERT_TRUE(again.ok()) << again.error().to_line();
  EXPECT_TRUE(again->was_there);
  EXPECT_EQ(registry.web.count(), before + 2) << "the source's manifest, and the question for the tag";
}

TEST_F(OciCopy, ChildrenOfAnIndexComeBeforeIt) {
  const auto entry = [](const oci::Artifact& artifact) {
    return fmt::format(R"({{"mediaType":"{}","digest":"{}","size":{}}})", oci::kManifestType,
                       artifact.digest.str(), artifact.manifest.size());
  };
  // The same child twice is copied once.
  const std::string index = fmt::format(R"({{"schemaVersion":2,"mediaType":"{}","manifests":[{},{},{}]}})",
                                        oci::kIndexType, entry(module), entry(chart), entry(module));
  const crypto::Digest digest = registry.publish("all", index);
  registry.before =
      [index, others = registry.before](const http::Request& request) -> std::optional<http::Response> {
    if (request.url != "https://reg.example/v2/team/shop/manifests/all") return others(request);
    return http::Response{
        .status = 200, .headers = {{"Content-Type", std::string(oci::kIndexType)}}, .body = index};
  };
  const auto report = copy_artifact(client, client, reference("oci://reg.example/team/shop:all"),
                                    reference("oci://mirror.example/far/shop"), {}, Context());
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->manifests, 3u);
  EXPECT_EQ(*report->to.digest, digest);
  EXPECT_EQ(mirror.manifests.at("all"), index);
  EXPECT_TRUE(mirror.manifests.contains(module.digest.str()));
  const std::vector<std::string> sent = put();
  ASSERT_FALSE(sent.empty());
  EXPECT_EQ(sent.back(), "manifests/all");
  EXPECT_EQ(mirror.tags, std::vector<std::string>{"all"});
  const std::vector<http::Request> all = registry.web.requests();
  const auto last = std::ranges::find(all.rbegin(), all.rend(), "PUT", &http::Request::method);
  EXPECT_EQ(http::find_header(last->headers, "Content-Type"), oci::kIndexType);
}

// Holds the first requests for blobs of reg.example back until `together` of them are there.
class Gate final : public http::Transport {
 public:
  Gate(http::Transport& next, std::size_t together) : next_(next), together_(together) {}
  Result<http::Response> send(const http::Request& request, const Context& context) override {
    return next_.send(request, context);
  }
  Result<http::Response> stream(const http::Request& request, const http::BodyPiece& piece,
                                const Context& context) override {
    {
      std::unique_lock lock(mutex_);
      ++there_;
      wake_.notify_all();
      if (!wake_.wait_for(lock, std::chrono::seconds(20), [&] { return there_ >= together_; }))
        return error(ErrorKind::Internal, "{} came alone", request.url);
    }
    return next_.stream(request, piece, context);
  }

 private:
  http::Transport& next_;
  const std::size_t together_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::size_t there_ = 0;  // guarded by mutex_
};

TEST_F(OciCopy, TheBlobsOfAManifestGoAtOnceAndTheManifestLast) {
  const auto entry = [&](const std::string& bytes) {
    const crypto::Digest digest = crypto::sha256(bytes);
    registry.blobs[digest.str()] = bytes;
    return fmt::format(R"({{"mediaType":"application/x","digest":"{}","size":{}}})", digest.str(),
                       bytes.size());
  };
  // The same layer twice is copied once.
  registry.publish(
      "layers",
      fmt::format(R"({{"schemaVersion":2,"mediaType":"{}","config":{},"layers":[{},{},{},{}]}})",
                  oci::kManifestType, entry("{}"), entry("one"), entry("two"), entry("three"), entry("one")));
  Gate gate(registry.web, 4);
  OciClient at_once(gate,
                    [](const std::string&, const std::string&,
                       const Context&) -> Result<std::optional<Login>> { return std::optional<Login>(); },
                    {.resolve = [](const std::string&) -> Result<std::vector<std::string>> {
                      return std::vector<std::string>{"1.1.1.1"};
                    }});
  const auto report =
      copy_artifact(at_once, at_once, reference("oci://reg.example/team/shop:layers"),
                    reference("oci://mirror.example/far/shop"), {.referrers = Referrers::No}, Context());
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->blobs, 4u);
  EXPECT_EQ(report->bytes, 2u + 3 + 3 + 5);
  EXPECT_EQ(mirror.blobs.size(), 4u);
  EXPECT_EQ(put().size(), 5u);
  EXPECT_EQ(put().back(), "manifests/layers");
}

TEST_F(OciCopy, APublishedVersionIsOnlyReplacedWhenAskedFor) {
  mirror.publish("1.4.0", chart);
  const oci::Reference from = reference("oci://reg.example/team/shop:1.4.0");
  const oci::Reference to = reference("oci://mirror.example/far/shop");
  const auto refused = copy_artifact(client, client, from, to, {}, Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_TRUE(put().empty());
  EXPECT_TRUE(copy_artifact(client, client, from, to, {.overwrite = Overwrite::Yes}, Context()).ok());
  EXPECT_EQ(mirror.manifests.at("1.4.0"), module.manifest);
}

TEST_F(OciCopy, BlobsThatAreNotWhatTheirDigestSaysAreNotSent) {
  registry.blobs[module.blobs[1].descriptor.digest.str()] = std::string("\0asm\1\0\0\1", 8);
  const auto refused = copy_artifact(client, client, reference("oci://reg.example/team/shop:1.4.0"),
                                     reference("oci://mirror.example/far/shop"), {}, Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(refused.error().to_line(), HasSubstr("is not what its digest says"));
  EXPECT_TRUE(mirror.tags.empty()) << "what lacks a part has no name";
}

TEST_F(OciCopy, BlobsBeyondTheBoundAreNotAskedFor) {
  std::string large = module.manifest;
  const std::string size = R"("size":8)";
  large.replace(large.find(size), size.size(), fmt::format(R"("size":{})", kMaxCopiedBlob + 1));
  registry.publish("large", large);
  const auto refused = copy_artifact(client, client, reference("oci://reg.example/team/shop:large"),
                                     reference("oci://mirror.example/far/shop"), {}, Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Invalid);
  EXPECT_THAT(refused.error().to_line(), HasSubstr("too large"));
}

TEST_F(OciCopy, ReferrersComeBeforeTheTagAndAreListed) {
  const std::string sbom =
      fmt::format(R"({{"schemaVersion":2,"mediaType":"{0}","artifactType":"application/spdx+json",)"
                  R"("config":{1},"layers":[],"subject":{{"mediaType":"{0}","digest":"{2}","size":{3}}}}})",
                  oci::kManifestType,
                  fmt::format(R"({{"mediaType":"application/vnd.oci.empty.v1+json","digest":"{}","size":2}})",
                              crypto::sha256("{}").str()),
                  module.digest.str(), module.manifest.size());
  registry.blobs[crypto::sha256("{}").str()] = "{}";
  const crypto::Digest referrer = registry.publish("x", sbom);
  // Somebody who may push lists a manifest that doesn't refer to it.
  oci::Index list;
  list.manifests.push_back(oci::descriptor_of(oci::kManifestType, sbom));
  list.manifests.push_back(oci::descriptor_of(oci::kManifestType, chart.manifest));
  registry.publish(oci::referrers_tag(module.digest), list.to_json());
  const oci::Reference from = reference("oci://reg.example/team/shop:1.4.0");
  const oci::Reference to = reference("oci://mirror.example/far/shop");
  const auto report = copy_artifact(client, client, from, to, {}, Context());
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->manifests, 1u);
  EXPECT_EQ(report->referrers, 1u);
  EXPECT_EQ(mirror.manifests.at(referrer.str()), sbom);
  EXPECT_FALSE(mirror.manifests.contains(chart.digest.str()));
  EXPECT_EQ(put().back(), "manifests/1.4.0");
  const auto listed = client.referrers(to.repository, module.digest, {}, Context());
  ASSERT_TRUE(listed.ok()) << listed.error().to_line();
  ASSERT_EQ(listed->size(), 1u);
  EXPECT_EQ(listed->front().digest, referrer);
  EXPECT_EQ(listed->front().artifact_type, "application/spdx+json");
  const std::size_t before = put().size();
  const auto again = copy_artifact(client, client, from, to, {}, Context());
  ASSERT_TRUE(again.ok()) << again.error().to_line();
  EXPECT_TRUE(again->was_there);
  EXPECT_EQ(put().size(), before) << "a second copy sends nothing";
}

TEST_F(OciCopy, SignaturesOfBothSidesStay) {
  const auto sign = [](std::string payload) {
    return oci::signature_artifact(std::nullopt, std::move(payload), "signature", "key");
  };
  const std::string tag = oci::signature_tag(module.digest);
  registry.publish(tag, sign("ours"));
  mirror.publish(tag, sign("theirs"));
  const oci::Reference from = reference("oci://reg.example/team/shop:1.4.0");
  const oci::Reference to = reference("oci://mirror.example/far/shop");
  ASSERT_TRUE(copy_artifact(client, client, from, to, {}, Context()).ok());
  const auto layers = [&] {
    const auto document = oci::parse_document(mirror.manifests.at(tag), {}, "it");
    return oci::signature_layers(std::get<oci::Manifest>(*document));
  };
  ASSERT_EQ(layers().size(), 2u);
  for (const oci::Descriptor& layer : layers()) EXPECT_TRUE(mirror.blobs.contains(layer.digest.str()));
  const std::string merged = mirror.manifests.at(tag);
  ASSERT_TRUE(copy_artifact(client, client, from, to, {}, Context()).ok());
  EXPECT_EQ(mirror.manifests.at(tag), merged);
}

// Somebody else who writes the tag at the same time, and always wins.
TEST_F(OciCopy, SignaturesThatDoNotStayAreAnError) {
  const auto sign = [](std::string payload) {
    return oci::signature_artifact(std::nullopt, std::move(payload), "signature", "key");
  };
  const std::string tag = oci::signature_tag(module.digest);
  registry.publish(tag, sign("ours"));
  int won = 0, wins = 100;
  mirror.before = [&](const http::Request& request) -> std::optional<http::Response> {
    if (request.method != "PUT" || !request.url.ends_with("/manifests/" + tag) || won == wins)
      return std::nullopt;
    mirror.publish(tag, sign(fmt::format("theirs {}", ++won)));
    return http::Response{.status = 201, .headers = {}, .body = {}};
  };
  const oci::Reference from = reference("oci://reg.example/team/shop:1.4.0");
  const auto copy = [&](std::string_view to) {
    return copy_artifact(client, client, from, reference(to), {}, Context());
  };
  const auto lost = copy("oci://mirror.example/far/shop");
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(lost.error().to_line(), HasSubstr("did not stay (others wrote " + tag));
  EXPECT_FALSE(mirror.manifests.contains("1.4.0")) << "nobody finds the copy unsigned";
  wins = won + 2;
  const auto copied = copy("oci://mirror.example/far/shop");
  ASSERT_TRUE(copied.ok()) << copied.error().to_line();
  const auto document = oci::parse_document(mirror.manifests.at(tag), {}, "it");
  EXPECT_EQ(oci::signature_layers(std::get<oci::Manifest>(*document)).size(), 2u);
}

TEST_F(OciCopy, ADryRunSendsNothing) {
  const auto report = copy_artifact(client, client, reference("oci://reg.example/team/shop:1.4.0"),
                                    reference("oci://mirror.example/far/shop"), {.dry_run = true}, Context());
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->blobs, 2u);
  EXPECT_TRUE(put().empty());
}

TEST_F(OciCopy, AnotherTagSendsNoBlob) {
  const auto tagged =
      tag_artifact(client, reference("oci://reg.example/team/shop:1.4.0"), "prod", Overwrite::No, Context());
  ASSERT_TRUE(tagged.ok()) << tagged.error().to_line();
  EXPECT_FALSE(tagged->before);
  EXPECT_EQ(registry.manifests.at("prod"), module.manifest);
  EXPECT_EQ(registry.web.count(), 4u) << "the manifest twice, and the tag before and after";
  // It moves, and says from where.
  const auto moved =
      tag_artifact(client, reference("oci://reg.example/team/shop:x86"), "prod", Overwrite::No, Context());
  ASSERT_TRUE(moved.ok()) << moved.error().to_line();
  EXPECT_EQ(moved->before, module.digest);
  EXPECT_TRUE(
      tag_artifact(client, reference("oci://reg.example/team/shop:x86"), "prod", Overwrite::No, Context())
          ->was_there);
  const auto version =
      tag_artifact(client, reference("oci://reg.example/team/shop:x86"), "1.4.0", Overwrite::No, Context());
  ASSERT_FALSE(version.ok());
  EXPECT_EQ(version.error().kind, ErrorKind::Conflict);
}

TEST_F(OciCopy, TagsAreListedVersionsFirst) {
  registry.tags = {"latest", "1.4.0", "a", "1.10.0", "2.0.0-rc.1", "1.4"};
  const auto names = [&](const std::string& range) {
    std::vector<std::string> list;
    for (const Tag& tag :
         list_tags(client, testing::repository_of("oci://reg.example/team/shop"), range, Context())
             .value_or({}))
      list.push_back(tag.version ? tag.name : fmt::format("({})", tag.name));
    return list;
  };
  EXPECT_THAT(names(""), ElementsAre("2.0.0-rc.1", "1.10.0", "1.4.0", "(1.4)", "(a)", "(latest)"));
  EXPECT_THAT(names("^1.5"), ElementsAre("1.10.0"));
  EXPECT_THAT(names("^1.4"), ElementsAre("1.10.0", "1.4.0")) << "as a range chooses among them";
  EXPECT_EQ(*parse_tag("1.0.0+b.5"), "1.0.0_b.5");
  EXPECT_FALSE(parse_tag("the best").ok());
  EXPECT_FALSE(parse_tag("").ok());
}

TEST_F(OciCopy, WhereSingleTagsCannotBeDeletedTheDigestIsNamed) {
  const oci::Reference wanted = reference("oci://reg.example/team/shop:1.4.0");
  const auto found = find_to_delete(client, wanted, Context());
  ASSERT_TRUE(found.ok()) << found.error().to_line();
  EXPECT_EQ(found->digest, module.digest);
  registry.before = [](const http::Request& request) -> std::optional<http::Response> {
    if (request.method != "DELETE" || request.url.find("sha256:") != std::string::npos) return std::nullopt;
    return http::Response{.status = 405, .headers = {}, .body = {}};
  };
  const Status refused = delete_artifact(client, wanted, *found, Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().hint, HasSubstr("oci://reg.example/team/shop@" + module.digest.str()));
  const oci::Reference whole = reference("oci://reg.example/team/shop@" + module.digest.str());
  ASSERT_TRUE(delete_artifact(client, whole, whole, Context()).ok());
  EXPECT_FALSE(registry.manifests.contains("1.4.0"));
}

}  // namespace
}  // namespace mist::registry
