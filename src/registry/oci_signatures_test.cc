#include "registry/oci_signatures.h"

#include <gtest/gtest.h>

#include <array>

#include "crypto/keys.h"
#include "registry/oci_documents.h"
#include "registry/oci_fixture.h"

namespace mist::registry {
namespace {

crypto::PrivateKey bundle_key(unsigned char seed) {
  std::array<std::byte, crypto::kKeyBytes> scalar{};
  scalar.fill(std::byte{seed});
  return *crypto::PrivateKey::parse(crypto::p256_key(scalar)->private_pem);
}

class SignatureBundles : public ::testing::Test {
 protected:
  SignatureBundles() { server.publish("1.4.0", package); }

  Result<SignatureBundle> sign(const StatementSigner& signer, const BundleOptions& options = {}) {
    return sign_as_bundle(client, repository, subject, signer, options, Context());
  }
  void attach(const SignatureBundle& bundle) {
    ASSERT_TRUE(bundle.artifact.has_value());
    const auto sent = attach_document(client, repository, package.digest, *bundle.artifact, Context());
    EXPECT_TRUE(sent.ok()) << sent.error().to_line();
  }
  std::vector<oci::SignatureClaim> listed() {
    return read_signatures(client, repository, package.digest, Context()).value_or({});
  }

  const oci::Artifact package =
      oci::tree_artifact("archive", {.title = "shop", .version = "1.4.0", .description = ""});
  const oci::Repository repository{"reg.example", "team/shop"};
  const oci::Descriptor subject = oci::descriptor_of(oci::kManifestType, package.manifest);
  testing::MemoryRegistry server;
  OciClient client = server.client();
};

TEST_F(SignatureBundles, AreSignaturesOfTheManifestOnceAttached) {
  const crypto::PrivateKey key = bundle_key(7);
  const auto bundle = sign(key_signer(key), {.annotations = {{"build", "42"}}});
  ASSERT_TRUE(bundle.ok()) << bundle.error().to_line();
  EXPECT_TRUE(listed().empty());
  attach(*bundle);
  const std::vector<oci::SignatureClaim> claims = listed();
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].damage, "");
  EXPECT_EQ(claims[0].digest, package.digest);
  EXPECT_EQ(claims[0].annotations.at("build"), "42");
  // So that it can't be passed off as one of another package.
  EXPECT_EQ(claims[0].repository, "reg.example/team/shop");
  EXPECT_TRUE(key.public_key().verify(claims[0].message, claims[0].signature));
  // They are no documents about it.
  EXPECT_TRUE(list_documents(client, repository, package.digest, Context()).value_or({}).empty());
}

TEST_F(SignatureBundles, AreMadeOnceForEachSigner) {
  const auto first = sign(key_signer(bundle_key(7)));
  attach(*first);
  const auto again = sign(key_signer(bundle_key(7)));
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->artifact.has_value());
  EXPECT_EQ(again->manifest, first->manifest);
  EXPECT_TRUE(sign(key_signer(bundle_key(8)))->artifact.has_value());
  // Another statement is signed again.
  EXPECT_TRUE(sign(key_signer(bundle_key(7)), {.annotations = {{"build", "42"}}})->artifact.has_value());
}

TEST_F(SignatureBundles, OfSomethingNewNothingIsLookedFor) {
  EXPECT_TRUE(sign(key_signer(bundle_key(7)), {.is_new = true})->artifact.has_value());
  EXPECT_TRUE(server.asked().empty());
}

TEST_F(SignatureBundles, AFailedSignatureSendsNothing) {
  const StatementSigner failing{.sign = [](std::string_view, const Context&) -> Result<std::string> {
                                  return error(ErrorKind::Retryable, "the log is away");
                                },
                                .made = [](const oci::SignatureClaim&) { return false; }};
  const auto bundle = sign(failing);
  ASSERT_FALSE(bundle.ok());
  EXPECT_EQ(bundle.error().message, "the log is away");
  for (const std::string& line : server.asked()) EXPECT_TRUE(line.starts_with("GET ")) << line;
}

}  // namespace
}  // namespace mist::registry
