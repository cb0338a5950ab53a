#include "registry/package_blob.h"

#include <gtest/gtest.h>

#include "wasm/binary.h"

namespace mist::registry {
namespace {

TEST(PackageBlob, IsAModuleAsItIsOrTheTextOfATree) {
  const PackageContent module = PackageModule(std::string(wasm::kEmptyModule));
  const PackageContent tree = PackageTree{{{"a.yaml", "a: 1\n"}}};
  for (const PackageContent& each : {module, tree}) {
    const auto blob = blob_of(each);
    ASSERT_TRUE(blob.ok());
    EXPECT_EQ(crypto::sha256(*blob), digest_of(each));
    const auto content = content_of_blob(*blob);
    ASSERT_TRUE(content.ok()) << content.error().to_line();
    EXPECT_EQ(*content, each);
  }
  EXPECT_EQ(*blob_of(module), wasm::kEmptyModule);
}

TEST(PackageBlob, OthersAreRefused) {
  for (const std::string& text : {std::string(), std::string("<html>"), std::string("mistletoe-tree-v2\n")})
    EXPECT_EQ(content_of_blob(text).error().kind, ErrorKind::Invalid) << text;
  std::string large(wasm::kEmptyModule);
  large.resize(kMaxPackageBytes + 1);
  EXPECT_EQ(content_of_blob(std::move(large)).error().kind, ErrorKind::Invalid);
}

}  // namespace
}  // namespace mist::registry
