#include "registry/oci_documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oci/attestation.h"
#include "registry/oci_fixture.h"

namespace mist::registry {
namespace {

using ::testing::IsEmpty;
using testing::MemoryRegistry;

// A registry without the referrers API, and a package in it.
class OciDocuments : public ::testing::Test {
 protected:
  OciDocuments() { registry.publish("1.4.0", package); }

  Result<bool> attach(std::string_view type, std::string text, oci::Annotations annotations = {}) {
    return attach_document(client, shop, package.digest,
                           oci::document_artifact(subject, type, std::move(text), std::move(annotations)),
                           Context());
  }
  std::vector<AttachedDocument> documents() {
    auto listed = list_documents(client, shop, package.digest, Context());
    EXPECT_TRUE(listed.ok()) << listed.error().to_line();
    return std::move(listed).value_or({});
  }
  std::string statement(std::string_view predicate) const {
    return fmt::format(
        R"({{"_type":"https://in-toto.io/Statement/v1","subject":[{{"digest":{{"sha256":"{}"}}}}],"predicateType":"{}","predicate":{{}}}})",
        package.digest.hex(), predicate);
  }

  const oci::Artifact package = oci::tree_artifact("archive", {});
  const oci::Descriptor subject = oci::descriptor_of(oci::kManifestType, package.manifest);
  const oci::Repository shop = testing::repository_of("oci://reg.example/team/shop");
  MemoryRegistry registry;
  OciClient client = registry.client();
};

TEST_F(OciDocuments, AreListedAsTheyWereAttached) {
  EXPECT_THAT(documents(), IsEmpty());
  ASSERT_TRUE(attach(oci::kStatementType, statement(oci::kSlsaPredicate)).ok());
  ASSERT_TRUE(attach(oci::kCycloneDxType, "{}").ok());
  const std::vector<AttachedDocument> listed = documents();
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[0].kind, oci::DocumentKind::Sbom);
  EXPECT_EQ(listed[0].document.digest, crypto::sha256("{}"));
  EXPECT_FALSE(listed[0].claim);
  EXPECT_EQ(listed[1].kind, oci::DocumentKind::Provenance);
  EXPECT_EQ(listed[1].predicate, oci::kSlsaPredicate);
  EXPECT_EQ(listed[1].claim->signature, "");
  EXPECT_EQ(listed[1].claim->digest, package.digest);
}

TEST_F(OciDocuments, TheSameOneIsSentOnce) {
  EXPECT_FALSE(*attach(oci::kCycloneDxType, "{}"));
  const auto puts = [&] {
    return std::ranges::count(registry.web.requests(), "PUT", &http::Request::method);
  };
  const auto before = puts();
  EXPECT_TRUE(*attach(oci::kCycloneDxType, "{}"));
  EXPECT_EQ(puts(), before);
  EXPECT_EQ(documents().size(), 1u);
}

TEST_F(OciDocuments, OfOthersAreKeptInTheIndex) {
  ASSERT_TRUE(attach("application/vnd.other", "{}").ok());
  ASSERT_TRUE(attach(oci::kCycloneDxType, "{}").ok());
  const auto listed = client.referrers(shop, package.digest, {}, Context());
  EXPECT_EQ(listed->size(), 2u);
  EXPECT_EQ(documents().size(), 1u);
}

TEST_F(OciDocuments, SignaturesAreNone) {
  ASSERT_TRUE(attach(oci::kStatementType, statement(oci::kSignPredicate)).ok());
  EXPECT_THAT(documents(), IsEmpty());
}

TEST_F(OciDocuments, UnderCosignsTagsAreListedToo) {
  const auto with_layer = [&](std::string_view type, const std::string& bytes) {
    registry.blobs[crypto::sha256(bytes).str()] = bytes;
    return oci::Manifest{.artifact_type = {},
                         .config = oci::descriptor_of(oci::kEmptyConfigType, "{}"),
                         .layers = {oci::descriptor_of(type, bytes)}}
        .to_json();
  };
  const std::string envelope =
      fmt::format(R"({{"payloadType":"{}","payload":"{}","signatures":[{{"sig":"c2ln"}}]}})",
                  oci::kStatementType, base64_encode(statement("https://example.org/scan")));
  registry.publish(oci::attached_tag(package.digest, oci::kAttestationSuffix),
                   with_layer(oci::kEnvelopeType, envelope));
  registry.publish(oci::attached_tag(package.digest, oci::kSbomSuffix), with_layer("text/spdx", "SPDX"));
  const std::vector<AttachedDocument> listed = documents();
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[0].tag, oci::attached_tag(package.digest, oci::kSbomSuffix));
  EXPECT_EQ(listed[1].kind, oci::DocumentKind::Attestation);
  EXPECT_EQ(listed[1].predicate, "https://example.org/scan");
  EXPECT_EQ(listed[1].claim->signature, "sig");
}

TEST_F(OciDocuments, AboutAnotherManifestAreLeftOut) {
  const oci::Artifact other =
      oci::document_artifact(oci::descriptor_of(oci::kManifestType, "other"), oci::kCycloneDxType, "{}", {});
  ASSERT_TRUE(attach_document(client, shop, package.digest, other, Context()).ok());
  EXPECT_THAT(documents(), IsEmpty());
}

// Somebody else who writes the list at the same time.
TEST_F(OciDocuments, AListThatDoesNotStayIsAnError) {
  int won = 0, wins = 100;
  const std::string tag = oci::referrers_tag(package.digest);
  registry.before = [&](const http::Request& request) -> std::optional<http::Response> {
    if (request.method != "PUT" || !request.url.ends_with("/manifests/" + tag) || won == wins)
      return std::nullopt;
    oci::Index theirs;
    theirs.manifests.push_back(oci::descriptor_of(oci::kManifestType, fmt::format("theirs {}", ++won)));
    registry.publish(tag, theirs.to_json());
    return http::Response{.status = 201, .headers = {}, .body = {}};
  };
  const auto lost = attach(oci::kCycloneDxType, "{}");
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().kind, ErrorKind::Conflict);
  EXPECT_NE(lost.error().to_line().find("did not stay (others wrote " + tag), std::string::npos);
  wins = won + 2;
  EXPECT_FALSE(*attach(oci::kCycloneDxType, "{}"));
  EXPECT_EQ(documents().size(), 1u);
}

TEST_F(OciDocuments, ATagThatIsNoIndexIsAnError) {
  registry.publish(oci::referrers_tag(package.digest), package.manifest);
  const auto attached = attach(oci::kCycloneDxType, "{}");
  ASSERT_FALSE(attached.ok());
  EXPECT_EQ(attached.error().kind, ErrorKind::Invalid);
}

}  // namespace
}  // namespace mist::registry
