#include "action/authoring/push_documents.h"

#include <gtest/gtest.h>

#include "registry/oci_fixture.h"
#include "registry/oci_signatures.h"

namespace mist::action {
namespace {

// Of nobody: as in crypto/signing_test.cc.
constexpr std::string_view kDocumentKey = R"(-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgAQn1OoTjqDbSGx2D
ASm3kOu+HcOXyxdBqx06jeARUWihRANCAAS15PBY4X7XxsDdoxcxPZVizAVfdtsC
inMtTlW/H27ycoRC8hiOS59xvqkWcnpy+fajZ5UlaSEw2eU8ojNah5PZ
-----END PRIVATE KEY-----
)";

class PushDocuments : public ::testing::Test {
 protected:
  PushDocuments() {
    registry.publish("1.4.0", package);
    pushed.digest = package.digest;
    options.kinds = {oci::DocumentKind::Sbom, oci::DocumentKind::Provenance};
    options.tool_version = "0.1.0";
  }

  std::vector<PushedDocument> push() {
    auto made = make_documents(client, pushed, package.manifest, options, Context());
    EXPECT_TRUE(made.ok()) << made.error().to_line();
    auto done = attach_documents(client, pushed, std::move(made).value_or({}), Context());
    EXPECT_TRUE(done.ok()) << done.error().to_line();
    return std::move(done).value_or({});
  }
  std::vector<registry::AttachedDocument> listed() {
    return registry::list_documents(client, pushed.repository, package.digest, Context()).value_or({});
  }

  const oci::Artifact package =
      oci::tree_artifact("archive", {.title = "shop", .version = "1.4.0", .description = ""});
  registry::testing::MemoryRegistry registry;
  registry::OciClient client = registry.client();
  oci::Reference pushed = *oci::Reference::parse("oci://reg.example/team/shop:1.4.0");
  DocumentOptions options;
};

TEST_F(PushDocuments, UnsignedOnesAreTheSameEachTime) {
  const std::vector<PushedDocument> first = push();
  ASSERT_EQ(first.size(), 2u);
  EXPECT_FALSE(first[0].was_there || first[1].was_there);
  const std::vector<PushedDocument> second = push();
  EXPECT_TRUE(second[0].was_there && second[1].was_there);
  EXPECT_EQ(second[1].manifest, first[1].manifest);
  EXPECT_EQ(second[1].key, "");
  EXPECT_EQ(listed().size(), 2u);
}

TEST_F(PushDocuments, ASignedStatementIsAttachedOnceForEachKey) {
  const crypto::PrivateKey key = *crypto::PrivateKey::parse(kDocumentKey);
  options.signer = registry::key_signer(key);
  const std::vector<PushedDocument> first = push();
  const std::vector<PushedDocument> second = push();
  EXPECT_EQ(first[1].key, key.public_key().fingerprint().str());
  EXPECT_TRUE(second[1].was_there);
  EXPECT_EQ(second[1].manifest, first[1].manifest);
  EXPECT_EQ(second[1].key, first[1].key);
  const std::vector<registry::AttachedDocument> there = listed();
  ASSERT_EQ(there.size(), 2u);
  EXPECT_TRUE(key.public_key().verify(there[1].claim->message, there[1].claim->signature));
  // Nothing of this is a signature of the package.
  EXPECT_TRUE(
      registry::read_signatures(client, pushed.repository, package.digest, Context()).value_or({}).empty());
}

TEST_F(PushDocuments, AFailedSignatureSendsNothing) {
  options.signer =
      registry::StatementSigner{.sign = [](std::string_view, const Context&) -> Result<std::string> {
                                  return error(ErrorKind::Retryable, "the log is away");
                                },
                                .made = [](const oci::SignatureClaim&) { return false; }};
  const auto made = make_documents(client, pushed, package.manifest, options, Context());
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message, "the log is away");
  EXPECT_TRUE(listed().empty());
}

}  // namespace
}  // namespace mist::action
