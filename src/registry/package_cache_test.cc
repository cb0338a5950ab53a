#include "registry/package_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "testing/recorded_events.h"
#include "testing/temp_dir.h"

namespace mist::registry {
namespace {

class Cache : public ::testing::Test {
 protected:
  Path file() const { return directory / digest.hex(); }
  bool has() const { return cache.get(digest, false) == PackageContent(PackageModule{"bytes"}); }

  mist::testing::TempDir temp;
  Path directory = temp.path() / "packages";
  HostFileSystem files;
  mist::testing::RecordedEvents events;
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

TEST_F(Cache, IsBoundByWhatWasUsedLongestAgo) {
  const auto put = [&](const std::string& bytes, int hours_ago) {
    const crypto::Digest name = crypto::sha256(bytes);
    cache.put(name, PackageModule{bytes});
    EXPECT_TRUE(cache.get(name, false).has_value());  // makes the stamp
    Path stamp = directory / (name.hex() + ".stamp");
    std::filesystem::last_write_time(
        stamp, std::filesystem::file_time_type::clock::now() - std::chrono::hours(hours_ago));
    return name;
  };
  const auto oldest = put(std::string(100, 'a'), 30), used = put(std::string(100, 'b'), 40),
             newest = put(std::string(100, 'c'), 10);
  EXPECT_TRUE(cache.get(used, false).has_value()) << "using it makes it the newest";
  cache.bound(300, newest);
  EXPECT_TRUE(cache.get(oldest, false).has_value());
  put(std::string(100, 'a'), 30);
  cache.bound(250, newest);
  EXPECT_FALSE(cache.get(oldest, false).has_value());
  EXPECT_FALSE(files.exists(directory / (oldest.hex() + ".stamp")));
  EXPECT_TRUE(cache.get(used, false).has_value());
  cache.bound(10, newest);
  EXPECT_TRUE(cache.get(newest, false).has_value()) << "what was just fetched stays, however large";
  EXPECT_FALSE(cache.get(used, false).has_value());
  EXPECT_TRUE(events.messages.empty());
}

TEST_F(Cache, RemovesWhatKilledProcessesLeft) {
  cache.put(digest, PackageModule{"bytes"});
  ASSERT_TRUE(has());
  const auto leave = [&](std::string_view name, int hours_ago) {
    ASSERT_TRUE(files.write(directory / name, "half").ok());
    std::filesystem::last_write_time(
        directory / name, std::filesystem::file_time_type::clock::now() - std::chrono::hours(hours_ago));
  };
  leave("." + digest.hex() + ".4711.1.tmp", 2);
  leave("." + digest.hex() + ".4711.2.tmp", 0);  // may be at work
  leave(crypto::sha256("gone").hex() + ".stamp", 2);
  cache.bound(1 << 20, digest);
  EXPECT_TRUE(has());
  EXPECT_FALSE(files.exists(directory / ("." + digest.hex() + ".4711.1.tmp")));
  EXPECT_TRUE(files.exists(directory / ("." + digest.hex() + ".4711.2.tmp")));
  EXPECT_FALSE(files.exists(directory / (crypto::sha256("gone").hex() + ".stamp")));
}

}  // namespace
}  // namespace mist::registry
