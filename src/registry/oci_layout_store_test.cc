#include "registry/oci_layout_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oci/signature.h"
#include "registry/oci_copy.h"
#include "registry/oci_fixture.h"
#include "testing/temp_dir.h"

namespace mist::registry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MemoryRegistry;
using testing::repository_of;

class OciLayout : public ::testing::Test {
 protected:
  OciLayout() {
    registry.publish("1.4.0", module);
    registry.publish("1.5.0", tree);
    registry.publish(oci::signature_tag(module.digest),
                     oci::signature_artifact(std::nullopt, "payload", "signature", "key"));
  }

  std::unique_ptr<LayoutWriter> writer(const Path& directory) {
    auto opened = LayoutWriter::open(files, directory, Context());
    EXPECT_TRUE(opened.ok()) << opened.error().to_line();
    return *std::move(opened);
  }

  Result<CopyReport> copy(LayoutWriter& target, std::string_view tag) {
    const oci::Reference from = *oci::Reference::parse(fmt::format("oci://reg.example/team/shop:{}", tag));
    return copy_artifact(client, target, from, from, {}, Context());
  }

  void fill(const Path& directory, const std::vector<std::string>& some) {
    const auto target = writer(directory);
    for (const std::string& tag : some) {
      const auto report = copy(*target, tag);
      ASSERT_TRUE(report.ok()) << report.error().to_line();
    }
    ASSERT_TRUE(target->finish().ok());
  }

  std::unique_ptr<LayoutReader> reader(Result<std::unique_ptr<LayoutFiles>> opened) {
    EXPECT_TRUE(opened.ok()) << opened.error().to_line();
    auto layout = LayoutReader::open(*std::move(opened), "it");
    EXPECT_TRUE(layout.ok()) << layout.error().to_line();
    return *std::move(layout);
  }

  Path blob_of(const Path& directory, const crypto::Digest& digest) {
    return directory / "blobs/sha256" / digest.hex();
  }

  const oci::Artifact module = oci::module_artifact(std::string("\0asm\1\0\0\0", 8), {});
  const oci::Artifact tree = oci::tree_artifact("archive", {});
  const oci::Repository shop = repository_of("oci://reg.example/team/shop");
  mist::testing::TempDir temp;
  HostFileSystem files;
  MemoryRegistry registry;
  OciClient client = registry.client();
};

TEST_F(OciLayout, ABlobThatIsNotWhatItsDigestSaysIsNotWritten) {
  registry.blobs[module.blobs[1].descriptor.digest.str()] = std::string(8, 'x');
  const auto target = writer(temp.path() / "a");
  const auto refused = copy(*target, "1.4.0");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  const auto there = files.list(temp.path() / "a/blobs/sha256");
  ASSERT_TRUE(there.ok());
  for (const DirectoryEntry& entry : *there)
    EXPECT_EQ(entry.name, module.blobs[0].descriptor.digest.hex()) << "nothing of the other one";
}

TEST_F(OciLayout, GivesBackWhatWasCopied) {
  fill(temp.path() / "a", {"1.4.0", "1.5.0"});
  const auto layout = reader(directory_layout(files, temp.path() / "a"));
  const auto raw = layout->manifest(shop, "1.4.0", Context());
  ASSERT_TRUE(raw.ok()) << raw.error().to_line();
  EXPECT_EQ(raw->bytes, module.manifest);
  EXPECT_EQ(*layout->blob(shop, module.blobs[1].descriptor, 100, Context()), module.blobs[1].bytes);
  EXPECT_THAT(*layout->tags(shop, Context()),
              ElementsAre("1.4.0", "1.5.0", oci::signature_tag(module.digest)));
  const auto missing = layout->manifest(shop, "2.0.0", Context());
  EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
  EXPECT_THAT(missing.error().hint, HasSubstr("1.5.0, 1.4.0"));
  EXPECT_EQ(layout->tags(repository_of("oci://reg.example/team/sh"), Context()).error().kind,
            ErrorKind::NotFound);
}

TEST_F(OciLayout, TheOrderOfCopiesMakesNoDifference) {
  fill(temp.path() / "a", {"1.4.0", "1.5.0"});
  fill(temp.path() / "b", {"1.5.0"});
  fill(temp.path() / "b", {"1.4.0"});
  EXPECT_EQ(*files.read(temp.path() / "a/index.json"), *files.read(temp.path() / "b/index.json"));
  for (const char* name : {"a", "b"})
    ASSERT_TRUE(write_layout_archive(*reader(directory_layout(files, temp.path() / name)),
                                     temp.path() / fmt::format("{}.tar", name), Context())
                    .ok());
  EXPECT_EQ(*files.read(temp.path() / "a.tar"), *files.read(temp.path() / "b.tar"));
}

TEST_F(OciLayout, AnArchiveIsReadAsItsDirectory) {
  fill(temp.path() / "a", {"1.4.0", "1.5.0"});
  const Path archive = temp.path() / "a.tar";
  ASSERT_TRUE(
      write_layout_archive(*reader(directory_layout(files, temp.path() / "a")), archive, Context()).ok());
  const auto layout = reader(archive_layout(archive));
  EXPECT_EQ(layout->manifest(shop, "1.5.0", Context())->bytes, tree.manifest);
  EXPECT_EQ(*layout->blob(shop, tree.blobs[1].descriptor, 100, Context()), "archive");
  ASSERT_TRUE(unpack_layout_archive(files, archive, temp.path() / "b", Context()).ok());
  EXPECT_EQ(*files.read(temp.path() / "a/index.json"), *files.read(temp.path() / "b/index.json"));
  EXPECT_TRUE(files.exists(blob_of(temp.path() / "b", module.digest)));
}

TEST_F(OciLayout, ArchivesThatAreCutOffAreRefused) {
  fill(temp.path() / "a", {"1.4.0"});
  const Path archive = temp.path() / "a.tar";
  ASSERT_TRUE(
      write_layout_archive(*reader(directory_layout(files, temp.path() / "a")), archive, Context()).ok());
  const std::string whole = *files.read(archive);
  for (std::size_t size = 0; size < whole.size() - 1024; size += 256) {
    ASSERT_TRUE(files.write(archive, whole.substr(0, size)).ok());
    EXPECT_FALSE(archive_layout(archive).ok()) << size;
  }
  ASSERT_TRUE(files.write(archive, "\x1f\x8b\x08").ok());
  EXPECT_THAT(archive_layout(archive).error().to_line(), HasSubstr("gzip"));
}

TEST_F(OciLayout, DamagedBlobsAreNotGivenOutAndAreReplaced) {
  const Path directory = temp.path() / "a";
  fill(directory, {"1.4.0"});
  const crypto::Digest layer = module.blobs[1].descriptor.digest;
  ASSERT_TRUE(files.write(blob_of(directory, layer), "other").ok());
  const auto layout = reader(directory_layout(files, directory));
  const auto refused = layout->blob(shop, module.blobs[1].descriptor, 100, Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_FALSE(write_layout_archive(*layout, temp.path() / "a.tar", Context()).ok());
  EXPECT_FALSE(files.exists(temp.path() / "a.tar"));
  ASSERT_TRUE(files.write(blob_of(directory, module.digest), "other").ok());
  fill(directory, {"1.4.0"});
  EXPECT_EQ(*files.read(blob_of(directory, layer)), module.blobs[1].bytes);
  EXPECT_EQ(*files.read(blob_of(directory, module.digest)), module.manifest);
}

// As somebody may have written it who wants other bytes under a digest.
TEST_F(OciLayout, ANameWithAnotherDigestIsNotFollowed) {
  const Path directory = temp.path() / "a";
  fill(directory, {"1.4.0", "1.5.0"});
  std::string index = *files.read(directory / "index.json");
  const std::string tagged = "reg.example/team/shop:1.5.0";
  index.replace(index.find(tagged), tagged.size(), "reg.example/team/shop@" + module.digest.str());
  ASSERT_TRUE(files.write(directory / "index.json", index).ok());
  const auto layout = reader(directory_layout(files, directory));
  const auto refused = layout->manifest(shop, module.digest.str(), Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(refused.error().to_line(),
              HasSubstr(module.digest.str() + " is not what its digest says (in it, that name stands for " +
                        tree.digest.str()));
  EXPECT_EQ(layout->manifest(shop, "1.4.0", Context())->bytes, module.manifest);
  EXPECT_EQ(layout->manifest(shop, tree.digest.str(), Context())->bytes, tree.manifest);

  // Copies repair the name, whether the manifest has a tag or not.
  for (const bool has_tag : {true, false}) {
    if (!has_tag) {
      const auto tag = index.find("reg.example/team/shop:1.4.0");
      index.replace(tag, tagged.size(), "reg.example/team/other:1.4.0");
    }
    ASSERT_TRUE(files.write(directory / "index.json", index).ok());
    const auto target = writer(directory);
    ASSERT_TRUE(
        target->put_manifest(shop, module.digest.str(), module.manifest, oci::kManifestType, Context()).ok());
    ASSERT_TRUE(target->finish().ok());
    const auto repaired = reader(directory_layout(files, directory));
    EXPECT_EQ(repaired->manifest(shop, module.digest.str(), Context())->bytes, module.manifest);
  }
}

TEST_F(OciLayout, NothingIsWrittenThroughLinks) {
  const Path layout = temp.path() / "layout", outside = temp.path() / "outside";
  fill(layout, {"1.4.0"});
  std::filesystem::create_directory(outside);
  std::filesystem::rename(blob_of(layout, module.digest), outside / "kept");
  ASSERT_TRUE(files.write(outside / "kept", "of somebody else").ok());
  std::filesystem::create_symlink(outside / "kept", blob_of(layout, module.digest));
  fill(layout, {"1.4.0"});
  EXPECT_EQ(*files.read(outside / "kept"), "of somebody else");
  EXPECT_TRUE(reader(directory_layout(files, layout))
                  ->manifest(repository_of("oci://reg.example/team/shop"), "1.4.0", {})
                  .ok());

  for (const char* part : {"blobs/sha256", "blobs", "index.json", "oci-layout"}) {
    std::filesystem::rename(layout / part, outside / "part");
    std::filesystem::create_symlink(outside / "part", layout / part);
    const auto opened = LayoutWriter::open(files, layout, Context());
    ASSERT_FALSE(opened.ok()) << part;
    EXPECT_THAT(opened.error().message, HasSubstr("is a link"));
    std::filesystem::remove(layout / part);
    std::filesystem::rename(outside / "part", layout / part);
  }
}

TEST_F(OciLayout, OtherDirectoriesAreLeftAlone) {
  ASSERT_TRUE(files.write(temp.path() / "a/notes.txt", "mine").ok());
  const auto refused = LayoutWriter::open(files, temp.path() / "a", Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Invalid);
  EXPECT_THAT(refused.error().to_line(), HasSubstr("notes.txt"));
  EXPECT_EQ(files.list(temp.path() / "a")->size(), 1u);
}

TEST_F(OciLayout, WhatAnotherToolWroteStays) {
  const Path directory = temp.path() / "a";
  ASSERT_TRUE(files.write(directory / "oci-layout", R"({"imageLayoutVersion":"1.0.0"})").ok());
  oci::Index foreign;
  foreign.manifests.push_back(oci::descriptor_of(oci::kManifestType, "unnamed"));
  foreign.manifests.push_back(oci::descriptor_of(oci::kManifestType, "named"));
  foreign.manifests.back().annotations.emplace("org.opencontainers.image.ref.name", "latest");
  ASSERT_TRUE(files.write(directory / "index.json", foreign.to_json()).ok());
  fill(directory, {"1.4.0"});
  const auto layout = reader(directory_layout(files, directory));
  EXPECT_TRUE(layout->entries().contains("latest"));
  EXPECT_TRUE(layout->entries().contains("@" + crypto::sha256("unnamed").str()));
  EXPECT_TRUE(layout->entries().contains("reg.example/team/shop:1.4.0"));
}

TEST_F(OciLayout, AnArtifactWithoutATagIsKeptByItsDigest) {
  const Path directory = temp.path() / "a";
  const auto target = writer(directory);
  const oci::Reference from = *oci::Reference::parse("oci://reg.example/team/shop@" + tree.digest.str());
  const oci::Reference to = *oci::Reference::parse_destination(shop.str());
  ASSERT_TRUE(copy_artifact(client, *target, from, to, {}, Context()).ok());
  ASSERT_TRUE(target->finish().ok());
  const auto layout = reader(directory_layout(files, directory));
  EXPECT_TRUE(layout->entries().contains("reg.example/team/shop@" + tree.digest.str()));
  EXPECT_EQ(layout->manifest(shop, tree.digest.str(), Context())->bytes, tree.manifest);
}

TEST_F(OciLayout, AnArtifactThatATagMovesAwayFromIsKeptByItsDigest) {
  const Path directory = temp.path() / "a", archive = temp.path() / "a.tar";
  const auto target = writer(directory);
  const oci::Reference by_digest = *oci::Reference::parse("oci://reg.example/team/shop@" + tree.digest.str());
  const oci::Reference to = *oci::Reference::parse_destination(shop.str());
  ASSERT_TRUE(copy_artifact(client, *target, by_digest, to, {}, Context()).ok());
  const std::string own = "reg.example/team/shop@" + tree.digest.str();
  for (const oci::Artifact& each : {tree, module}) {
    registry.publish("prod", each);
    const auto moved = copy(*target, "prod");
    ASSERT_TRUE(moved.ok()) << moved.error().to_line();
    ASSERT_TRUE(target->finish().ok());
    EXPECT_EQ(reader(directory_layout(files, directory))->entries().contains(own),
              each.digest != tree.digest);
  }
  ASSERT_TRUE(write_layout_archive(*reader(directory_layout(files, directory)), archive, Context()).ok());
  const auto layout = reader(archive_layout(archive));
  EXPECT_EQ(layout->manifest(shop, tree.digest.str(), Context())->bytes, tree.manifest);
  EXPECT_EQ(*layout->blob(shop, tree.blobs[1].descriptor, 100, Context()), "archive");

  // A new edition of signatures replaces the old one.
  const std::string signatures = oci::signature_tag(tree.digest);
  for (const oci::Artifact& each : {tree, module})
    ASSERT_TRUE(target
                    ->put_manifest(repository_of("oci://reg.example/x"), signatures, each.manifest,
                                   oci::kManifestType, Context())
                    .ok());
  ASSERT_TRUE(target->finish().ok());
  EXPECT_FALSE(
      reader(directory_layout(files, directory))->entries().contains("reg.example/x@" + tree.digest.str()));
}

// Nobody may have it any more who could repair it.
TEST_F(OciLayout, ADamagedArtifactThatATagMovesAwayFromStopsNoArchive) {
  const oci::Descriptor& layer = tree.blobs[1].descriptor;
  const std::vector<std::optional<std::string>> damages{std::nullopt, "cut",
                                                        std::string(tree.blobs[1].bytes.size(), 'x')};
  for (const std::optional<std::string>& damage : damages) {
    const mist::testing::TempDir place;
    const Path directory = place.path() / "a", archive = place.path() / "a.tar";
    registry.publish("prod", tree);
    fill(directory, {"prod"});
    const Path file = blob_of(directory, layer.digest);
    ASSERT_TRUE((damage ? files.write(file, *damage) : files.remove(file)).ok());
    registry.publish("prod", module);
    fill(directory, {"prod"});
    const auto layout = reader(directory_layout(files, directory));
    EXPECT_FALSE(layout->entries().contains("reg.example/team/shop@" + tree.digest.str()));
    const Status written = write_layout_archive(*layout, archive, Context());
    EXPECT_TRUE(written.ok()) << written.error().to_line();
    EXPECT_EQ(reader(archive_layout(archive))->manifest(shop, "prod", Context())->bytes, module.manifest);
  }
}

// A manifest's file is that of every repository, and its entry is not.
TEST_F(OciLayout, AnArtifactThatAnotherRepositoryHasIsNamedInBoth) {
  const Path directory = temp.path() / "a";
  const auto target = writer(directory);
  const oci::Reference from = *oci::Reference::parse("oci://reg.example/team/shop@" + tree.digest.str());
  for (const char* name : {"oci://reg.example/team/shop", "oci://reg.example/team/other"}) {
    const auto copied =
        copy_artifact(client, *target, from, *oci::Reference::parse_destination(name), {}, Context());
    ASSERT_TRUE(copied.ok()) << copied.error().to_line();
    EXPECT_FALSE(copied->was_there) << name;
    EXPECT_TRUE(copy_artifact(client, *target, from, *oci::Reference::parse_destination(name), {}, Context())
                    ->was_there);
  }
  ASSERT_TRUE(target->finish().ok());
  const auto layout = reader(directory_layout(files, directory));
  EXPECT_TRUE(layout->entries().contains("reg.example/team/shop@" + tree.digest.str()));
  EXPECT_TRUE(layout->entries().contains("reg.example/team/other@" + tree.digest.str()));
}

}  // namespace
}  // namespace mist::registry
