#include "registry/address_copies.h"

#include <gtest/gtest.h>

#include "oci/annotation.h"
#include "registry/oci_packages.h"

namespace mist::registry {
namespace {

PackageTree tree_of(std::vector<PackageFile> files) { return {std::move(files)}; }

AddressName plain_name() { return *AddressName::of("https://git.example/packages.git", "plain"); }

oci::Manifest manifest_of(const oci::Artifact& artifact) {
  return std::get<oci::Manifest>(*oci::parse_document(artifact.manifest, oci::kManifestType, "the copy"));
}

// As a mirror gives it out.
PackageContent read_back(const AddressCopy& copy) {
  CopySource source(copy.artifact);
  const oci::Reference reference{
      .repository = copy.name.repository, .tag = {}, .range = {}, .digest = copy.artifact.digest};
  const auto raw = source.manifest(reference.repository, copy.artifact.digest.str(), Context());
  return *read_oci_package(source, reference, *raw, Context());
}

TEST(AddressCopies, ATreeKeepsItsDigestEvenWhereItIsAChart) {
  const PackageContent content(tree_of(
      {{"Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"}, {"templates/a.yaml", "a: 1\n"}}));
  const auto copy = copy_of_package(plain_name(), {"1.0.0"}, content, {});
  ASSERT_TRUE(copy.ok()) << copy.error().to_line();
  EXPECT_EQ(digest_of(read_back(*copy)), digest_of(content));
}

TEST(AddressCopies, TheSameOriginalGivesTheSameCopy) {
  const PackageContent content(tree_of({{"a.yaml", "a: 1\n"}}));
  const OriginalFacts facts{.commit = std::string(40, 'a'), .signature = "signed"};
  const auto one = copy_of_package(plain_name(), {"1.0.0"}, content, facts);
  const auto two = copy_of_package(plain_name(), {"1.0.0"}, content, facts);
  EXPECT_EQ(one->artifact.manifest, two->artifact.manifest);
  EXPECT_NE(one->artifact.digest, copy_of_package(plain_name(), {"1.0.0"}, content, {})->artifact.digest);
}

TEST(AddressCopies, ACopySaysWhatItIsOf) {
  const PackageContent content(tree_of({{"a.yaml", "a: 1\n"}}));
  const auto copy =
      copy_of_package(plain_name(), {"ref-v1"}, content,
                      {.commit = std::string(40, 'a'), .signature = "signed", .is_kustomization = true});
  FoundCopy found{
      {copy->artifact.manifest, {}, copy->artifact.digest}, manifest_of(copy->artifact), "the copy"};
  EXPECT_EQ(oci::annotation(found.manifest.annotations, "dev.mistletoe/copy-of"),
            "git.example/packages.git//plain");
  EXPECT_EQ(found.commit(), std::string(40, 'a'));
  EXPECT_TRUE(found.is_kustomization());
  // The signature is a layer beside the package, which nobody takes for it.
  EXPECT_EQ(found.manifest.layers.size(), 2u);
  EXPECT_EQ(digest_of(read_back(*copy)), digest_of(content));
}

TEST(AddressCopies, AFileIsItsBytes) {
  const auto copy = copy_of_file(*AddressName::of("https://files.example/a.yaml"), "file", "a: 1\n");
  ASSERT_TRUE(copy.ok()) << copy.error().to_line();
  const oci::Manifest manifest = manifest_of(copy->artifact);
  ASSERT_EQ(manifest.layers.size(), 1u);
  CopySource source(copy->artifact);
  EXPECT_EQ(*source.blob(copy->name.repository, manifest.layers.front(), 100, Context()), "a: 1\n");
  EXPECT_EQ(oci::content_of(manifest, "the copy").error().kind, ErrorKind::Invalid) << "it is no package";
}

}  // namespace
}  // namespace mist::registry
