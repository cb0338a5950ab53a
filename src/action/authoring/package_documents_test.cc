#include "action/authoring/package_documents.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "encoding/json.h"

namespace mist::action {
namespace {

const crypto::Digest kShopManifest = crypto::sha256("manifest");

PublishedPackage shop_package() {
  PublishedPackage package;
  package.reference =
      *oci::Reference::parse(fmt::format("oci://registry.example/team/shop:1.4.0@{}", kShopManifest.str()));
  package.about = {{std::string(oci::kTitleAnnotation), "shop"},
                   {std::string(oci::kVersionAnnotation), "1.4.0"}};
  PackagePart database{.role = "dependency", .name = "acme/db", .version = "1.10.0"};
  database.source = "oci://registry.example/acme/db:1.10.0@sha256:cc";
  database.purl = "pkg:oci/db@sha256%3Acc?repository_url=registry.example/acme/db&tag=1.10.0";
  database.sha256 = "cc";
  database.package_digest = "sha256:aa";
  database.is_direct = false;
  PackagePart cache{.role = "dependency", .name = "acme/cache", .version = "2.0.0"};
  cache.needs = {"acme/db"};
  PackagePart engine{.role = "engine", .name = "helm"};
  engine.sha256 = "ee";
  package.parts = {database, cache, engine};
  package.tool_version = "0.1.0";
  return package;
}

TEST(PackageDocuments, TheBillOfMaterialsIsCycloneDx) {
  const std::string text = sbom_text(shop_package());
  EXPECT_EQ(text, sbom_text(shop_package()));
  const encoding::Value bill = *encoding::parse_json(text);
  EXPECT_EQ(bill.string_at("bomFormat"), "CycloneDX");
  EXPECT_EQ(bill.string_at("specVersion"), "1.6");
  EXPECT_EQ(
      encoding::to_json(*bill.at_path({"metadata", "component"})),
      fmt::format(
          R"({{"type":"application","bom-ref":"package","name":"shop","version":"1.4.0","hashes":[{{"alg":"SHA-256","content":"{0}"}}],"purl":"pkg:oci/shop@sha256%3A{0}?repository_url=registry.example/team/shop&tag=1.4.0"}})",
          kShopManifest.hex()));
  EXPECT_EQ(
      encoding::to_json(*bill.find("dependencies")),
      R"([{"ref":"package","dependsOn":["dependency:acme/cache@2.0.0","engine:helm"]},{"ref":"dependency:acme/db@1.10.0","dependsOn":[]},{"ref":"dependency:acme/cache@2.0.0","dependsOn":["dependency:acme/db@1.10.0"]},{"ref":"engine:helm","dependsOn":[]}])");
}

TEST(PackageDocuments, OtherPartsGiveAnotherSerialNumber) {
  PublishedPackage other = shop_package();
  other.parts.pop_back();
  const auto serial = [](const PublishedPackage& package) {
    return std::string(encoding::parse_json(sbom_text(package))->string_at("serialNumber"));
  };
  EXPECT_NE(serial(other), serial(shop_package()));
}

TEST(PackageDocuments, ProvenanceNamesTheCommitOfACleanCheckout) {
  const registry::SourceCommit commit{
      .url = "git@git.example:team/shop.git", .commit = "0123abcd", .path = "charts/shop", .clean = true};
  const crypto::Digest sbom = crypto::sha256("sbom");
  const std::string text = provenance_text(shop_package(), commit, &sbom);
  const encoding::Value statement = *encoding::parse_json(text);
  EXPECT_EQ(
      encoding::to_json(*statement.at_path({"predicate", "buildDefinition", "externalParameters"})),
      R"({"reference":"oci://registry.example/team/shop:1.4.0","source":{"uri":"git+ssh://git@git.example/team/shop.git","digest":{"gitCommit":"0123abcd"},"path":"charts/shop","dirty":false}})");
  EXPECT_NE(text.find(sbom.hex()), std::string::npos);
}

TEST(PackageDocuments, ProvenanceOfChangedFilesNamesNoCommit) {
  const registry::SourceCommit commit{
      .url = "https://git.example/shop.git", .commit = "0123abcd", .path = {}, .clean = false};
  const std::string text = provenance_text(shop_package(), commit, nullptr);
  EXPECT_EQ(text.find("0123abcd"), std::string::npos);
  EXPECT_NE(text.find(R"("source":{"uri":"git+https://git.example/shop.git","dirty":true})"),
            std::string::npos);
  EXPECT_EQ(text.find("byproducts"), std::string::npos);
}

TEST(PackageDocuments, ProvenanceWithoutACheckoutNamesNoSource) {
  EXPECT_EQ(provenance_text(shop_package(), std::nullopt, nullptr).find("\"source\""), std::string::npos);
}

}  // namespace
}  // namespace mist::action
