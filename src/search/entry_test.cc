#include "search/entry.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "encoding/json.h"

namespace mist::search {
namespace {

const std::string kHeader = R"({"apiVersion":"mistletoe.dev/v1alpha1","kind":"PackageIndex"})"
                            "\n";

Entry entry_of(std::string path, std::string description = {}) {
  Entry entry;
  entry.path = std::move(path);
  entry.version = "1.4.0";
  entry.description = std::move(description);
  return entry;
}
std::string failure(std::string_view text) {
  const Result<Index> index = parse_index(text, "the index");
  return index ? "no error" : index.error().to_line();
}

TEST(PackageIndexText, IsOneLineForEachPackageInOrder) {
  const std::string text = to_index({entry_of("web"), entry_of("databases/mariadb", "A database")});
  EXPECT_EQ(text, kHeader + R"({"path":"databases/mariadb","version":"1.4.0","description":"A database"})" +
                      "\n" + R"({"path":"web","version":"1.4.0"})" + "\n");
}

TEST(PackageIndexText, IsReadBack) {
  Entry full = entry_of("databases/mariadb", "A \"database\"\nin two lines");
  full.digest = "sha256:00";
  full.title = "mariadb";
  full.home = "https://mariadb.org";
  full.format = "Helm chart";
  full.versions = {"1.4.0", "1.3.9"};
  full.keywords = {"sql"};
  full.maintainers = {"Ann <ann@example.org>"};
  full.kinds = {"Service", "StatefulSet"};
  const Result<Index> index = parse_index(to_index({full}), "it");
  ASSERT_TRUE(index.ok()) << index.error().to_line();
  EXPECT_EQ(index->entries, std::vector{full});
}

TEST(PackageIndexText, LeavesOutWhatNoReferenceCanName) {
  const auto line = [](std::string_view path, std::string_view version) {
    return encoding::to_json(encoding::Value::object({{"path", path}, {"version", version}})) + "\n";
  };
  const Result<Index> index =
      parse_index(kHeader + line("good", "1.0.0") + line("../up", "1") + line("a//b", "1") + line("", "1") +
                      line("x\x1b[31m", "1") + line("web", "1 2") + line("web", "") + line("web", ".1") +
                      line("web", "-1.0.0") + line("good", "3.0.0") + line(std::string(300, 'a'), "1") +
                      "{\n[]\n7\n" + line("also/good", "2.0.0+b"),
                  "it");
  ASSERT_TRUE(index.ok()) << index.error().to_line();
  ASSERT_EQ(index->entries.size(), 2u);
  EXPECT_EQ(index->entries[0].path, "good");
  EXPECT_EQ(index->entries[1].path, "also/good");
  EXPECT_EQ(index->left_out, 13u);
}

TEST(PackageIndexText, CutsTextsThatAreTooLongBetweenCharacters) {
  std::string text;
  while (text.size() < 10'000) text += "ä";
  const Result<Index> index = parse_index(to_index({entry_of("web", text)}), "it");
  const std::string& cut = index->entries.front().description;
  EXPECT_LE(cut.size(), 4096u);
  EXPECT_GT(cut.size(), 4000u);
  EXPECT_TRUE(is_valid_utf8(cut));
}

TEST(PackageIndexText, RefusesWhatIsNoIndex) {
  EXPECT_NE(failure("").find("it is empty"), std::string::npos);
  EXPECT_NE(failure("hello").find("is not an index of packages"), std::string::npos);
  EXPECT_NE(failure("{}\n").find("its first line doesn't say so"), std::string::npos);
  EXPECT_NE(
      failure(R"({"apiVersion":"mistletoe.dev/v9","kind":"PackageIndex"})").find("version mistletoe.dev/v9"),
      std::string::npos);
}

TEST(PackageIndexText, RefusesMoreThanItsBounds) {
  std::string text = kHeader;
  for (std::size_t i = 0; i <= kMostEntries; ++i)
    text += fmt::format("{{\"path\":\"web{}\",\"version\":\"1\"}}\n", i);
  EXPECT_NE(failure(text).find("it has more than 200000 packages"), std::string::npos);
}

TEST(PackageIndexText, AWriterHasTheBoundsOfReaders) {
  EXPECT_TRUE(check_line(entry_of("web", std::string(4096, 'a'))).ok());
  Entry long_one = entry_of("web");
  // Each character takes six bytes there.
  long_one.keywords.assign(100, std::string(255, '\x01'));
  long_one.maintainers = long_one.keywords;
  EXPECT_EQ(check_line(long_one).error().kind, ErrorKind::Invalid);
  EXPECT_EQ(parse_index(to_index({long_one}), "it")->left_out, 1u);
  EXPECT_TRUE(check_size(kMostEntries, kMostIndexBytes).ok());
  EXPECT_EQ(check_size(kMostEntries + 1, 0).error().kind, ErrorKind::Invalid);
  EXPECT_EQ(check_size(0, 11, 10).error().kind, ErrorKind::Invalid);
  EXPECT_EQ(check_size(0, kMostIndexBytes + 1).error().kind, ErrorKind::Invalid);
}

TEST(PackageIndexText, APackageIsInTheSameShardEverywhere) {
  EXPECT_EQ(shard_of("databases/mariadb", 16), shard_of("databases/mariadb", 16));
  // FNV-1a of "a" is 0xaf63dc4c8601ec8c.
  EXPECT_EQ(shard_of("a", 16), 0xcu);
  EXPECT_EQ(shard_of("", 16), 5u);
}

}  // namespace
}  // namespace mist::search
