#include "base/replace_entries.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <thread>

#include "testing/temp_dir.h"

namespace mist {
namespace {

class ReplaceEntries : public ::testing::Test {
 protected:
  void put(const Path& path, const std::string& text) { ASSERT_TRUE(files_.write(path, text).ok()); }
  std::map<std::string, std::string> found() const {
    std::map<std::string, std::string> all;
    for (const auto& each : std::filesystem::recursive_directory_iterator(dir_.path()))
      if (each.is_regular_file())
        all[each.path().lexically_relative(dir_.path()).string()] = *files_.read(each.path());
    return all;
  }
  using Found = std::map<std::string, std::string>;

  mist::testing::TempDir dir_;
  HostFileSystem files_;
};

TEST_F(ReplaceEntries, MakesADirectoryThatIsNotThere) {
  const TreeFile written[] = {{"a", "1"}};
  ASSERT_TRUE(replace_entries(files_, dir_.path() / "charts", written, {}).ok());
  EXPECT_EQ(found(), (Found{{"charts/a", "1"}}));
}

TEST_F(ReplaceEntries, WritesAndRemovesWhatItIsToldAndKeepsTheRest) {
  put(dir_.path() / "charts/old", "old");
  put(dir_.path() / "charts/same", "1");
  put(dir_.path() / "charts/own/deep/file", "own");
  std::filesystem::create_symlink("own", dir_.path() / "charts/link");
  const TreeFile written[] = {{"same", "2"}, {"new", "3"}};
  const std::string removed[] = {"old"};
  ASSERT_TRUE(replace_entries(files_, dir_.path() / "charts/", written, removed).ok());
  EXPECT_EQ(found(), (Found{{"charts/own/deep/file", "own"}, {"charts/same", "2"}, {"charts/new", "3"}}));
  EXPECT_EQ(std::filesystem::read_symlink(dir_.path() / "charts/link"), "own");
}

TEST_F(ReplaceEntries, PutsBackWhatAKilledRunMovedAway) {
  put(dir_.path() / ".charts.old/a", "a");
  put(dir_.path() / ".charts.next/half", "");
  const TreeFile written[] = {{"b", "b"}};
  ASSERT_TRUE(replace_entries(files_, dir_.path() / "charts", written, {}).ok());
  EXPECT_EQ(found(), (Found{{"charts/a", "a"}, {"charts/b", "b"}}));
}

TEST_F(ReplaceEntries, ChangesNothingIfItFails) {
  put(dir_.path() / "charts/a", "a");
  put(dir_.path() / "charts/d/file", "d");
  const TreeFile outside[] = {{"../b", "b"}};
  EXPECT_EQ(replace_entries(files_, dir_.path() / "charts", outside, {}).error().kind, ErrorKind::Invalid);
  const TreeFile twice[] = {{"new", "1"}, {std::string_view("x\0y", 3), "2"}};
  EXPECT_FALSE(replace_entries(files_, dir_.path() / "charts", twice, {}).ok());
  put(dir_.path() / "file", "no directory");
  const TreeFile fine[] = {{"a", "b"}};
  EXPECT_EQ(replace_entries(files_, dir_.path() / "file", fine, {}).error().kind, ErrorKind::Invalid);
  std::filesystem::create_directory_symlink("charts", dir_.path() / "link");
  EXPECT_EQ(replace_entries(files_, dir_.path() / "link", fine, {}).error().kind, ErrorKind::Invalid);
  EXPECT_EQ(found(), (Found{{"charts/a", "a"}, {"charts/d/file", "d"}, {"file", "no directory"}}));
}

TEST_F(ReplaceEntries, NobodySeesAMixture) {
  const std::string all[2][2] = {{"1", "1"}, {"2", "2"}};
  put(dir_.path() / "charts/a", "1");
  put(dir_.path() / "charts/b", "1");
  std::atomic<bool> done = false;
  std::size_t looks = 0;
  std::thread reader([&] {
    while (!done) {
      // A directory that is open stays the one that it was.
      const int directory = ::open((dir_.path() / "charts").c_str(), O_RDONLY | O_DIRECTORY);
      ASSERT_GE(directory, 0) << "it is always there";
      char texts[2] = {};
      bool both = true;
      for (int i = 0; i < 2; ++i) {
        const int file = ::openat(directory, i == 0 ? "a" : "b", O_RDONLY);
        both = both && file >= 0 && ::read(file, &texts[i], 1) == 1;
        if (file >= 0) ::close(file);
      }
      // The old one is emptied after the exchange, so a reader that came late may find less, but no mixture.
      if (both) {
        EXPECT_EQ(texts[0], texts[1]);
      }
      ::close(directory);
      ++looks;
    }
  });
  for (int i = 0; i < 200; ++i) {
    const std::string text = all[i % 2][0];
    const TreeFile written[] = {{"a", text}, {"b", text}};
    ASSERT_TRUE(replace_entries(files_, dir_.path() / "charts", written, {}).ok());
  }
  done = true;
  reader.join();
  EXPECT_GT(looks, 0u);
}

}  // namespace
}  // namespace mist
