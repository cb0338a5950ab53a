#include "registry/package_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "registry/git_fixture.h"

namespace mist::registry {
namespace {

class Cache : public ::testing::Test {
 protected:
  Path file() const { return directory / digest.hex(); }
  bool has() const { return cache.get(digest, false) == PackageContent(PackageModule{"bytes"}); }

  mist::testing::TempDir temp;
  Path directory = temp.path() / "packages";
  HostFileSystem files;
  testing::RecordingSink events;
  PackageCache cache{files, events, directory};
  crypto::Digest digest = crypto::sha256("bytes");
};

TEST_F(Cache, GivesBackWhatItGot) {
  EXPECT_FALSE(has());
  cache.put(digest, PackageModule{"bytes"});
  EXPECT_TRUE(has());
  EXPECT_TRUE(has());  // through the stamp
  PackageTree tree;
  tree.files = {{"a", "1"}};
  cache.put(digest_of(tree), tree);
  EXPECT_EQ(cache.get(digest_of(tree), true), PackageContent(tree));
  EXPECT_TRUE(events.messages.empty());
}

TEST_F(Cache, NoticesChangedBytesEvenWithAStamp) {
  cache.put(digest, PackageModule{"bytes"});
  ASSERT_TRUE(has());
  {
    // In place, with the old times put back: only the change time tells.
    struct stat before{};
    ASSERT_EQ(::stat(file().c_str(), &before), 0);
    std::FILE* open = std::fopen(file().c_str(), "r+");
    ASSERT_NE(open, nullptr);
    std::fputs("bytez", open);
    std::fclose(open);
    const timespec times[2] = {before.st_atim, before.st_mtim};
    ASSERT_EQ(::utimensat(AT_FDCWD, file().c_str(), times, 0), 0);
  }
  EXPECT_FALSE(has());
  EXPECT_EQ(events.messages.size(), 1u);
  EXPECT_FALSE(files.exists(file()));
}

TEST_F(Cache, TrustsNobodyElsesFile) {
  cache.put(digest, PackageModule{"bytes"});
  ASSERT_EQ(::chmod(file().c_str(), 0666), 0);
  EXPECT_FALSE(has());
  ASSERT_TRUE(files.remove(file()).ok());
  ASSERT_TRUE(files.write(temp.path() / "elsewhere", "bytes").ok());
  std::filesystem::create_symlink(temp.path() / "elsewhere", file());
  EXPECT_FALSE(has());
}

TEST_F(Cache, AMissingDiskOnlyDisablesIt) {
  ASSERT_TRUE(files.write(directory, "a file where the directory should be").ok());
  cache.put(digest, PackageModule{"bytes"});
  EXPECT_FALSE(has());
  EXPECT_EQ(events.messages.size(), 1u);
}

}  // namespace
}  // namespace mist::registry
