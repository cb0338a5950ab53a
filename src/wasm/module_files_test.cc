#include "wasm/module_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <optional>

#include "testing/fake_clock.h"
#include "testing/temp_dir.h"
#include "wasm/binary.h"
#include "wasm/test_support.h"

namespace mist::wasm {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kLimit = std::uint64_t{64} << 20;

// The disk, with a count of the files that were read.
class CountingFiles final : public FileSystem {
 public:
  Result<std::string> read(const Path& path, std::uint64_t limit) const override {
    ++reads;
    return disk.read(path, limit);
  }
  Result<std::uint64_t> size(const Path& path) const override { return disk.size(path); }
  Status write(const Path& path, std::string_view bytes, const WriteOptions& options) override {
    return disk.write(path, bytes, options);
  }
  Result<std::vector<DirectoryEntry>> list(const Path& path) const override { return disk.list(path); }
  Status make_directories(const Path& path, unsigned mode) override {
    return disk.make_directories(path, mode);
  }
  Status remove(const Path& path) override { return disk.remove(path); }
  Status remove_all(const Path& path) override { return disk.remove_all(path); }
  Status rename(const Path& from, const Path& to) override { return disk.rename(from, to); }
  bool exists(const Path& path) const override { return disk.exists(path); }
  bool is_directory(const Path& path) const override { return disk.is_directory(path); }

  HostFileSystem disk;
  mutable int reads = 0;
};

// A module of a size that is worth an entry, with `mark` in it and a package section if there is one.
std::string large_module(char mark, const std::optional<std::string>& section = "{}") {
  const std::string filler(ModuleFiles::kSmallest, mark);
  std::string module = *with_custom_section(bytes_of(assemble("(module)")), "m", "filler", filler);
  return section ? *with_custom_section(bytes_of(module), "m", kPackageSection, *section) : module;
}

class ModuleFilesTest : public ::testing::Test {
 protected:
  ModuleFilesTest() { later(); }

  // The clock stands where what was written so far is settled.
  void later() { clock.emplace(SystemClock().now() + 2 * ModuleFiles::kSettled); }

  void put(std::string_view bytes) { ASSERT_TRUE(files.write(path, bytes, {}).ok()); }

  ModuleBytes open() {
    const ModuleFiles modules(directory, files, *clock);
    auto opened = modules.open(path, kLimit);
    MIST_CHECK(opened.ok());
    return *std::move(opened);
  }
  // Whether opening read the file, or knew it.
  bool reads() {
    const int before = files.reads;
    const ModuleBytes module = open();
    EXPECT_EQ(module.digest(), crypto::sha256(*files.disk.read(path))) << "the digest is always the true one";
    return files.reads != before;
  }
  Path entry() const {
    for (const DirectoryEntry& each : *files.list(directory))
      if (each.name.ends_with(".module")) return directory / each.name;
    return {};
  }

  testing::TempDir temp;
  Path directory = temp.path() / "cache" / "code";
  Path path = temp.path() / "shop.wasm";
  CountingFiles files;
  std::optional<testing::FakeClock> clock;
};

TEST_F(ModuleFilesTest, ALargeOneIsReadOnce) {
  const std::string bytes = large_module('a', "{name: shop}");
  put(bytes);
  EXPECT_TRUE(reads());
  EXPECT_FALSE(reads());
  const ModuleBytes known = open();
  EXPECT_EQ(known.size(), bytes.size());
  EXPECT_EQ(**known.package_section("shop"), "{name: shop}");
  EXPECT_EQ(**known.bytes(), bytes);
  EXPECT_EQ(known, ModuleBytes(bytes));
  struct stat info{};
  ASSERT_EQ(::stat(entry().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  ASSERT_EQ(::stat(directory.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
}

TEST_F(ModuleFilesTest, KnowsThatThereIsNoSection) {
  put(large_module('a', std::nullopt));
  EXPECT_TRUE(reads());
  EXPECT_FALSE(reads());
  EXPECT_EQ(*open().package_section("shop"), std::nullopt);
}

TEST_F(ModuleFilesTest, SeesAChangeOfTheSameSizeWithItsTimePutBack) {
  put(large_module('a'));
  EXPECT_TRUE(reads());
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  {
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(::pwrite(fd.get(), "b", 1, 1000), 1);
    const std::array<struct timespec, 2> times{info.st_atim, info.st_mtim};
    ASSERT_EQ(::futimens(fd.get(), times.data()), 0);
  }
  struct stat after{};
  ASSERT_EQ(::stat(path.c_str(), &after), 0);
  ASSERT_EQ(after.st_size, info.st_size);
  ASSERT_EQ(after.st_mtim.tv_nsec, info.st_mtim.tv_nsec);
  later();
  EXPECT_TRUE(reads());
  EXPECT_FALSE(reads());
}

TEST_F(ModuleFilesTest, SeesThatAnotherFileTookThePlace) {
  put(large_module('a'));
  EXPECT_TRUE(reads());
  put(large_module('b'));  // by a rename
  later();
  EXPECT_TRUE(reads());
  EXPECT_FALSE(reads());
}

TEST_F(ModuleFilesTest, AFileThatWasJustWrittenIsNotRecorded) {
  clock.emplace(SystemClock().now());
  put(large_module('a'));
  EXPECT_TRUE(reads());
  EXPECT_TRUE(reads());
  clock.emplace(SystemClock().now() - std::chrono::hours(1));  // a clock that is behind the file's
  EXPECT_TRUE(reads());
  EXPECT_TRUE(reads());
  later();
  EXPECT_TRUE(reads());
  EXPECT_FALSE(reads());
}

TEST_F(ModuleFilesTest, WhatOthersMayHavePlantedDoesNotCount) {
  put(large_module('a'));
  EXPECT_TRUE(reads());
  ASSERT_FALSE(reads());
  // Its own text for other bytes, where others may write.
  ASSERT_EQ(::chmod(directory.c_str(), 0777), 0);
  EXPECT_TRUE(reads());
  ASSERT_EQ(::chmod(directory.c_str(), 0700), 0);
  EXPECT_FALSE(reads());
  ASSERT_EQ(::chmod(entry().c_str(), 0622), 0);
  EXPECT_TRUE(reads());  // and it wrote its own
  EXPECT_FALSE(reads());
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(entry().c_str(), 12345, 0), 0);
    EXPECT_TRUE(reads());
    EXPECT_FALSE(reads());
  }
  // A link to such a file.
  const Path real = temp.path() / "elsewhere";
  ASSERT_TRUE(files.rename(entry(), real).ok());
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  std::filesystem::create_symlink(real,
                                  directory / fmt::format("{:x}-{:x}.module", info.st_dev, info.st_ino));
  EXPECT_TRUE(reads());
}

TEST_F(ModuleFilesTest, DamagedEntriesDoNotCount) {
  put(large_module('a', "{name: shop}"));
  EXPECT_TRUE(reads());
  const std::string text = *files.disk.read(entry());
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    ASSERT_TRUE(files.write(entry(), damaged, {.mode = 0600, .durable = false}).ok());
    ASSERT_TRUE(reads()) << i;
    ASSERT_TRUE(files.write(entry(), text.substr(0, i), {.mode = 0600, .durable = false}).ok());
    ASSERT_TRUE(reads()) << i;
  }
  EXPECT_FALSE(reads()) << "each was replaced by a good one";
}

TEST_F(ModuleFilesTest, WithoutAPlaceForEntriesItReads) {
  put(large_module('a'));
  directory.clear();
  EXPECT_TRUE(reads());
  EXPECT_TRUE(reads());
  ASSERT_TRUE(files.write(temp.path() / "file", "", {}).ok());
  directory = temp.path() / "file" / "code";
  EXPECT_TRUE(reads());
  EXPECT_TRUE(reads());
  directory = "/proc/self/code";  // nobody can write there, root included
  EXPECT_TRUE(reads());
  EXPECT_TRUE(reads());
}

TEST_F(ModuleFilesTest, ReadingWhatIsNoLongerThereSaysSo) {
  put(large_module('a'));
  EXPECT_TRUE(reads());
  const ModuleBytes known = open();
  put(large_module('b'));
  const auto changed = known.bytes();
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.error().kind, ErrorKind::Retryable);
  EXPECT_THAT(changed.error().message, HasSubstr("shop.wasm changes"));
}

TEST_F(ModuleFilesTest, SmallFilesAndWhatIsNoModuleAreReadEachTime) {
  put(assemble("(module)"));
  EXPECT_TRUE(reads());
  EXPECT_TRUE(reads());
  put(std::string(ModuleFiles::kSmallest, 'x'));
  later();
  EXPECT_TRUE(reads());
  EXPECT_TRUE(reads());
  EXPECT_FALSE(open().package_section("shop").ok());
}

TEST_F(ModuleFilesTest, EntriesStayFew) {
  const std::string section(std::size_t{900} << 10, ' ');
  for (int i = 0; i < 24; ++i) {
    path = temp.path() / fmt::format("{}.wasm", i);
    put(large_module('a', section));
    later();
    EXPECT_TRUE(reads());
  }
  std::uint64_t bytes = 0;
  for (const auto& each : std::filesystem::directory_iterator(directory)) bytes += each.file_size();
  EXPECT_LE(bytes, ModuleFiles::kAllEntries);
  EXPECT_GT(bytes, ModuleFiles::kAllEntries / 2);
  EXPECT_FALSE(reads()) << "the last one stays";
}

TEST_F(ModuleFilesTest, CompiledCodeNeedsNoBytes) {
  put(large_module('a'));
  NullEventSink events;
  RuntimeOptions options;
  options.cache_directory = directory;
  const auto load = [&] {
    auto runtime = Runtime::create(options, events);
    MIST_CHECK(runtime.ok());
    const auto module = runtime->load(open(), "shop");
    EXPECT_TRUE(module.ok());
    EXPECT_EQ(module.ok() ? module->package_section() : std::nullopt, "{}");
  };
  load();
  const int before = files.reads;
  load();
  EXPECT_EQ(files.reads, before);
  // Without the code they are read, and compiled again.
  for (const DirectoryEntry& each : *files.list(directory)) {
    if (!each.name.ends_with(".code")) continue;
    ASSERT_TRUE(files.remove(directory / each.name).ok());
  }
  load();
  EXPECT_GT(files.reads, before);
}

}  // namespace
}  // namespace mist::wasm
