#include "registry/pin_store.h"

#include <gtest/gtest.h>

#include "base/local_fault.h"
#include "testing/temp_dir.h"

namespace mist::registry {
namespace {

class Pins : public ::testing::Test {
 protected:
  static Pin pin(const std::string& reference, std::string_view bytes = "bytes") {
    return {.reference = reference,
            .digest = crypto::sha256(bytes),
            .is_tree = false,
            .object = "0a",
            .origin = "https://h at 1, p"};
  }
  Path only_file() const {
    const auto entries = files.list(temp.path() / "r");
    EXPECT_EQ(entries->size(), 1u);
    return temp.path() / "r" / entries->front().name;
  }
  mist::testing::TempDir temp;
  HostFileSystem files;
  PinStore store{files, temp.path()};
};

TEST_F(Pins, AreFoundAgain) {
  EXPECT_FALSE(store.find("r", "r/x:1")->has_value());
  EXPECT_TRUE(store.all("r")->empty());
  ASSERT_TRUE(store.add("r", pin("r/x:1")).ok());
  ASSERT_TRUE(store.add("r", pin("r/x:2")).ok());
  EXPECT_EQ(**store.find("r", "r/x:1"), pin("r/x:1"));
  EXPECT_EQ(store.all("r")->size(), 2u);
  EXPECT_FALSE(store.find("other", "r/x:1")->has_value());
}

TEST_F(Pins, TheFirstOneStays) {
  ASSERT_TRUE(store.add("r", pin("r/x:1", "old")).ok());
  EXPECT_EQ(store.add("r", pin("r/x:1", "new")).error().kind, ErrorKind::Conflict);
  EXPECT_EQ((*store.find("r", "r/x:1"))->digest, crypto::sha256("old"));
  ASSERT_TRUE(store.replace("r", pin("r/x:1", "new")).ok());
  EXPECT_EQ((*store.find("r", "r/x:1"))->digest, crypto::sha256("new"));
}

TEST_F(Pins, NoticeEveryChangedBit) {
  ASSERT_TRUE(store.add("r", pin("r/x:1")).ok());
  const Path path = only_file();
  const std::string good = *files.read(path);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    ASSERT_TRUE(files.write(path, bad, {.durable = false}).ok());
    const auto found = store.find("r", "r/x:1");
    ASSERT_FALSE(found.ok()) << bad;
    EXPECT_EQ(found.error().kind, ErrorKind::Conflict);
    EXPECT_NE(found.error().detail<LocalFault>(), nullptr);
  }
  ASSERT_TRUE(files.write(path, "").ok());
  EXPECT_FALSE(store.find("r", "r/x:1").ok());
}

TEST_F(Pins, OfAnotherVersionAreNoneOfThis) {
  ASSERT_TRUE(store.add("r", pin("r/x:1")).ok());
  const Path one = only_file();
  ASSERT_TRUE(store.add("r", pin("r/x:2")).ok());
  const std::vector<DirectoryEntry> entries = *files.list(temp.path() / "r");
  for (const DirectoryEntry& entry : entries)
    ASSERT_TRUE(files.write(temp.path() / "r" / entry.name, *files.read(one)).ok());
  EXPECT_TRUE(store.find("r", "r/x:1").ok());
  EXPECT_EQ(store.find("r", "r/x:2").error().kind, ErrorKind::Conflict);
}

TEST_F(Pins, CanBeForgotten) {
  ASSERT_TRUE(store.add("r", pin("r/x:1")).ok());
  ASSERT_TRUE(store.forget("r").ok());
  EXPECT_FALSE(store.find("r", "r/x:1")->has_value());
  EXPECT_TRUE(store.forget("r").ok());
}

}  // namespace
}  // namespace mist::registry
