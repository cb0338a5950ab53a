#include "oci/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oci/layout.h"

namespace mist::oci {
namespace {

const std::string kDigest = "sha256:" + std::string(64, 'a');

std::string descriptor(std::string_view type, std::string_view more = "") {
  return fmt::format(R"({{"mediaType":"{}","digest":"{}","size":8{}}})", type, kDigest, more);
}

std::string manifest(std::string_view config, std::string_view layers, std::string_view more = "") {
  return fmt::format(R"({{"schemaVersion":2,"config":{},"layers":[{}]{}}})", config, layers, more);
}

const std::string kWasm = descriptor("application/vnd.wasm.config.v0+json");
const std::string kModule = descriptor("application/wasm");

std::string refusal(std::string_view text, std::string_view type = kManifestType) {
  const auto document = parse_document(text, type, "it");
  return document.ok() ? "accepted" : document.error().to_line();
}

TEST(OciManifest, ReadsHelmsThatDoesNotSayItsType) {
  const auto document =
      parse_document(manifest(descriptor("application/vnd.cncf.helm.config.v1+json"),
                              descriptor("application/vnd.cncf.helm.chart.content.v1.tar+gzip") + "," +
                                  descriptor("application/vnd.cncf.helm.chart.provenance.v1.prov"),
                              R"(,"annotations":{"org.opencontainers.image.title":"ch"})"),
                     kManifestType, "oci://h/ch:0.1.0");
  ASSERT_TRUE(document.ok()) << document.error().to_line();
  const auto& read = std::get<Manifest>(*document);
  EXPECT_EQ(read.annotations.at("org.opencontainers.image.title"), "ch");
  const auto content = content_of(read, "it");
  ASSERT_TRUE(content.ok()) << content.error().to_line();
  EXPECT_EQ(content->kind, ContentKind::Chart);
  EXPECT_EQ(content->layer.size, 8u);
}

TEST(OciManifest, SaysWhichMemberIsWrong) {
  struct Case {
    std::string text, because;
  };
  const Case cases[] = {
      {"", "is damaged, or not a manifest"},
      {"[]", "not a JSON object"},
      {R"({"schemaVersion":1})", "schemaVersion is not 2"},
      {R"({"schemaVersion":2,"config":{},"layers":[]})", "config has no mediaType"},
      {R"({"schemaVersion":2,"layers":[]})", "config isn't there"},
      {manifest(kWasm, kModule, R"(,"manifests":[])"), "a manifest and an index at once"},
      {manifest(kWasm, kModule, R"(,"layers":[])"), "not JSON that can be trusted"},
      {manifest(kWasm, R"({"mediaType":"a/b","digest":"md5:1","size":1})"), "layers[0].digest is no SHA-256"},
      {manifest(kWasm, fmt::format(R"({{"mediaType":"a/b","digest":"{}","size":-1}})", kDigest)),
       "layers[0].size"},
      {manifest(kWasm, fmt::format(R"({{"mediaType":"a/b","digest":"{}","size":"8"}})", kDigest)),
       "layers[0].size"},
      {manifest(kWasm, kModule, R"(,"mediaType":"text/plain")"), "neither a manifest nor an index"},
      {manifest(kWasm, kModule, fmt::format(R"(,"mediaType":"{}")", kIndexType)), "the registry sent it as"},
      {manifest(kWasm, kModule, R"(,"annotations":{"a":1})"), "annotations.a is not text"},
      {std::string(kMaxManifestBytes + 1, ' '), "bytes; 4194304 are allowed"},
  };
  for (const Case& each : cases)
    EXPECT_NE(refusal(each.text).find(each.because), std::string::npos) << refusal(each.text);
}

TEST(OciManifest, HasABoundForItsLayers) {
  std::string many = kModule;
  for (std::size_t i = 0; i < kMaxDescriptors; ++i) many += "," + kModule;
  EXPECT_NE(refusal(manifest(kWasm, many)).find("1001 entries; 1000 are allowed"), std::string::npos);
}

TEST(OciManifest, PrintsWhatParsesBack) {
  const Artifact artifact = module_artifact(std::string("\0asm\1\0\0\0", 8),
                                            {.title = "shop", .version = "1.4.0", .description = {}});
  EXPECT_EQ(artifact.digest, crypto::sha256(artifact.manifest));
  const auto document = parse_document(artifact.manifest, kManifestType, "it");
  ASSERT_TRUE(document.ok()) << document.error().to_line();
  const auto& read = std::get<Manifest>(*document);
  EXPECT_EQ(read.config, artifact.blobs[0].descriptor);
  EXPECT_EQ(read.layers.at(0), artifact.blobs[1].descriptor);
  EXPECT_EQ(read.to_json(), artifact.manifest);
}

TEST(OciLayout, AWasmArtifactIsAsTheGuidelinesHaveIt) {
  const std::string module("\0asm\1\0\0\0", 8);
  const Artifact artifact = module_artifact(module, {});
  EXPECT_EQ(
      artifact.blobs[0].bytes,
      R"({"created":"1970-01-01T00:00:00Z","author":null,"architecture":"wasm","os":"wasip1","layerDigests":[")" +
          crypto::sha256(module).str() + R"("],"component":null})");
  EXPECT_EQ(artifact.blobs[0].descriptor.media_type, "application/vnd.wasm.config.v0+json");
  EXPECT_EQ(artifact.blobs[1].descriptor.media_type, "application/wasm");
  EXPECT_EQ(module_artifact(module, {}).digest, artifact.digest);
  EXPECT_EQ(module_artifact(module, crypto::sha256(module), {}).manifest, artifact.manifest);
}

TEST(OciLayout, WhatIsWrittenIsRead) {
  const auto kind_of = [](const Artifact& artifact) {
    return content_of(std::get<Manifest>(*parse_document(artifact.manifest, kManifestType, "it")), "it")
        ->kind;
  };
  EXPECT_EQ(kind_of(module_artifact("m", {})), ContentKind::Module);
  EXPECT_EQ(kind_of(chart_artifact("c", encoding::Value::object({{"name", "c"}}), {})), ContentKind::Chart);
  EXPECT_EQ(kind_of(tree_artifact("t", {})), ContentKind::Tree);
}

TEST(OciLayout, OtherArtifactsAreRefusedBySayingWhatTheyAre) {
  const auto refused = [](const std::string& text) {
    const auto content =
        content_of(std::get<Manifest>(*parse_document(text, kManifestType, "it")), "oci://h/a:1");
    return content.ok() ? "accepted" : content.error().to_line();
  };
  EXPECT_NE(refused(manifest(descriptor("application/vnd.oci.image.config.v1+json"), kModule))
                .find("a container image"),
            std::string::npos);
  EXPECT_NE(
      refused(manifest(descriptor("application/x.other"), kModule)).find("its config is application/x.other"),
      std::string::npos);
  EXPECT_NE(refused(manifest(kWasm, descriptor("text/plain"))).find("its layers are: text/plain"),
            std::string::npos);
  EXPECT_NE(refused(manifest(kWasm, kModule + "," + kModule)).find("several of its layers"),
            std::string::npos);
}

TEST(OciLayout, TheOnlyPackageOfAnIndexIsChosen) {
  const auto index_of = [](const std::string& manifests) {
    return std::get<Index>(*parse_document(
        fmt::format(R"({{"schemaVersion":2,"manifests":[{}]}})", manifests), kIndexType, "it"));
  };
  const std::string image = descriptor(kManifestType);
  const std::string wasm = descriptor(
      kManifestType, R"(,"artifactType":"application/vnd.wasm.config.v0+json","annotations":{"a":"b"})");
  EXPECT_EQ(package_in(index_of(image + "," + wasm), "it")->annotations.at("a"), "b");
  EXPECT_TRUE(package_in(index_of(image), "it").ok());
  EXPECT_FALSE(package_in(index_of(image + "," + image), "it").ok());
  EXPECT_FALSE(package_in(index_of(wasm + "," + wasm), "it").ok());
  EXPECT_FALSE(package_in(index_of(""), "it").ok());
}

// 64 MiB of it would be two gigabytes of values.
TEST(OciManifest, ALayoutsIndexOfManyValuesIsRefusedBeforeItIsHeld) {
  std::string text = R"({"schemaVersion":2,"manifests":[)";
  for (int i = 0; i < 4'000'000; ++i) text += "1,";
  const auto parsed = parse_layout_index(text + "1]}", "index.json");
  ASSERT_FALSE(parsed.ok());
  EXPECT_THAT(parsed.error().because, ::testing::HasSubstr("the document has more than 3200000 values"));
}

}  // namespace
}  // namespace mist::oci
