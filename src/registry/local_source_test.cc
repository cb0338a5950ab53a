#include "registry/local_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "testing/temp_dir.h"

namespace mist::registry {
namespace {

using ::testing::HasSubstr;

class Local : public ::testing::Test {
 protected:
  void put(const std::string& path, std::string_view bytes = "x") {
    ASSERT_TRUE(files.write(temp.path() / path, bytes, {.durable = false}).ok());
  }
  void link(const std::string& path, const Path& target) {
    std::filesystem::create_symlink(target, temp.path() / path);
  }
  std::string paths_of(const std::string& path) {
    const auto content = read_local(files, modules, temp.path() / path);
    if (!content) return content.error().to_line();
    std::string text;
    for (const PackageFile& file : std::get<PackageTree>(*content).files) text += file.path + " ";
    return text;
  }

  mist::testing::TempDir temp;
  HostFileSystem files;
  SystemClock clock;
  wasm::ModuleFiles modules{temp.path() / "code", files, clock};
};

TEST_F(Local, AWasmFileIsAModule) {
  put("m.wasm", "bytes");
  EXPECT_EQ(*read_local(files, modules, temp.path() / "m.wasm"), PackageContent(PackageModule{"bytes"}));
}

TEST_F(Local, AManifestIsATreeOfOneFile) {
  put("m.yaml");
  put("m.json");
  EXPECT_EQ(paths_of("m.yaml"), "m.yaml ");
  EXPECT_EQ(paths_of("m.json"), "m.json ");
}

TEST_F(Local, APackedChartIsATreeOfOneFile) {
  put("shop-1.0.0.tgz");
  EXPECT_EQ(paths_of("shop-1.0.0.tgz"), "shop-1.0.0.tgz ");
}

TEST_F(Local, ADirectoryIsItsFilesInOrderWithoutThoseOfVersionControl) {
  put("d/z.yaml");
  put("d/a/b.yaml");
  put("d/a.yaml");
  put("d/.git/config");
  put("d/a/.svn/entries");
  put("d/.helmignore");
  EXPECT_EQ(paths_of("d"), ".helmignore a.yaml a/b.yaml z.yaml ");
}

TEST_F(Local, LinksAreFollowedWhileTheyStayInside) {
  put("d/real/x.yaml");
  link("d/alias", "real");
  link("d/y.yaml", "real/x.yaml");
  EXPECT_EQ(paths_of("d"), "alias/x.yaml real/x.yaml y.yaml ");
}

TEST_F(Local, LinksThatLeaveAreRefused) {
  put("secret");
  put("d/x.yaml");
  link("d/out", "../secret");
  EXPECT_THAT(paths_of("d"), HasSubstr("leads out of the package"));
}

TEST_F(Local, LinksToADirectoryAboveAreRefused) {
  put("d/a/x.yaml");
  link("d/a/up", "..");
  EXPECT_THAT(paths_of("d"), HasSubstr("directory above"));
  put("e/x/y.yaml");
  put("e/z/y.yaml");
  link("e/x/to", "../z");
  link("e/z/to", "../x");
  EXPECT_THAT(paths_of("e"), HasSubstr("nested more than"));
}

TEST_F(Local, LinksThatMultiplyAreRefused) {
  constexpr int kLevels = 20;  // each leads twice to the next: a million ways to the last
  for (int i = 0; i <= kLevels; ++i)
    std::filesystem::create_directories(temp.path() / fmt::format("d/{}", i));
  for (int i = 0; i < kLevels; ++i)
    for (const std::string_view name : {"a", "b"})
      link(fmt::format("d/{}/{}", i, name), fmt::format("../{}", i + 1));
  EXPECT_THAT(paths_of("d"), HasSubstr("more than 10000 directories"));
}

TEST_F(Local, WhatIsNoFileIsRefusedWithoutReadingIt) {
  put("d/x.yaml");
  ASSERT_EQ(::mkfifo((temp.path() / "d" / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(paths_of("d"), HasSubstr("neither a file nor a directory"));
  ASSERT_EQ(::mkfifo((temp.path() / "pipe.wasm").c_str(), 0600), 0);
  EXPECT_THAT(paths_of("pipe.wasm"), HasSubstr("neither a file nor a directory"));
}

TEST_F(Local, SaysWhatItKnowsOtherwise) {
  EXPECT_EQ(read_local(files, modules, temp.path() / "no").error().kind, ErrorKind::NotFound);
  put("m.txt");
  EXPECT_THAT(paths_of("m.txt"), HasSubstr("not a kind of package"));
  std::filesystem::create_directory(temp.path() / "empty");
  EXPECT_THAT(paths_of("empty"), HasSubstr("has no files"));
}

TEST_F(Local, HasABound) {
  put("d/a.yaml");
  std::filesystem::resize_file(temp.path() / "d" / "a.yaml", kMaxPackageBytes + 1);
  EXPECT_THAT(paths_of("d"), HasSubstr("larger than"));
  put("m.wasm");
  std::filesystem::resize_file(temp.path() / "m.wasm", kMaxPackageBytes + 1);
  EXPECT_EQ(read_local(files, modules, temp.path() / "m.wasm").error().kind, ErrorKind::Invalid);
}

}  // namespace
}  // namespace mist::registry
