#include "wasm/code_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "testing/temp_dir.h"
#include "wasm/test_support.h"

namespace mist::wasm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CodeCacheTest : public ::testing::Test {
 protected:
  CodeCache make(std::uint64_t limit = 1 << 20) { return CodeCache(directory, limit, events); }
  static crypto::Digest key(std::string_view name) { return crypto::sha256(name); }
  Path code_file(std::string_view name) const { return directory / (key(name).hex() + ".code"); }
  Path stamp_file(std::string_view name) const { return directory / (key(name).hex() + ".stamp"); }

  static void store(CodeCache& cache, std::string_view name, std::string_view code) {
    cache.store(key(name), bytes_of(code));
  }
  // The content of the file that the cache would map; nothing on a miss.
  static std::optional<std::string> load(CodeCache& cache, std::string_view name) {
    std::optional<std::string> content;
    cache.load(key(name), "shop", [&](const Path& path) {
      auto read = HostFileSystem().read(path);
      if (read.ok()) content = *read;
      return content.has_value();
    });
    return content;
  }
  std::size_t files() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(directory)) ++count;
    return count;
  }

  testing::TempDir temp;
  Path directory = temp.path() / "cache" / "code";
  RecordingEvents events;
  HostFileSystem disk;
};

TEST_F(CodeCacheTest, GivesBackWhatItStored) {
  CodeCache cache = make();
  EXPECT_EQ(load(cache, "a"), std::nullopt);
  store(cache, "a", "code of a");
  EXPECT_EQ(load(cache, "a"), "code of a");
  CodeCache other = make();
  EXPECT_EQ(load(other, "a"), "code of a");
  EXPECT_EQ(load(other, "b"), std::nullopt);
  EXPECT_THAT(events.take_messages(), IsEmpty());
}

TEST_F(CodeCacheTest, IsPrivate) {
  CodeCache cache = make();
  store(cache, "a", "code");
  struct stat info{};
  ASSERT_EQ(::stat(directory.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  ASSERT_EQ(::stat(code_file("a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(CodeCacheTest, AnInstallationSharesItsOwn) {
  CodeCache filled(directory, 1 << 20, events, CodeReaders::All);
  store(filled, "a", "code of a");
  struct stat info{};
  ASSERT_EQ(::stat(directory.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0755U);
  for (const Path& file : {code_file("a"), stamp_file("a")}) {
    ASSERT_EQ(::stat(file.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0644U) << file;
  }
  SharedCodeCache shared(directory, events);
  const auto loads = [&](std::string_view name) {
    return shared.load(key(name), "shop", [](const Path& path) {
      return HostFileSystem().read(path).value_or("") == "code of a";
    });
  };
  EXPECT_TRUE(loads("a"));
  EXPECT_FALSE(loads("b"));
  EXPECT_FALSE(SharedCodeCache({}, events).load(key("a"), "shop", [](const Path&) { return true; }));
  EXPECT_THAT(events.take_messages(), IsEmpty());
  // Copied: the digest still holds. Changed, or writable by others: never.
  ASSERT_TRUE(disk.write(code_file("a"), "code of a").ok());
  EXPECT_TRUE(loads("a"));
  ASSERT_TRUE(disk.write(code_file("a"), "evil of a").ok());
  EXPECT_FALSE(loads("a"));
  EXPECT_THAT(events.take_messages(), ElementsAre(HasSubstr("was changed")));
  ASSERT_TRUE(disk.write(code_file("a"), "code of a").ok());
  ASSERT_EQ(::chmod(directory.c_str(), 0777), 0);
  EXPECT_FALSE(loads("a"));
  EXPECT_THAT(events.take_messages(), ElementsAre(HasSubstr("others may write")));
  EXPECT_TRUE(disk.exists(code_file("a"))) << "nothing of an installation is removed";
}

// As in the sandbox that an ordinary user made: there, root is nobody who is known.
TEST_F(CodeCacheTest, RootsInstallationIsTrustedWhereRootIsNotKnown) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become two other users";
  constexpr uid_t kUser = 65001, kOther = 65002;
  CodeCache filled(directory, 1 << 20, events, CodeReaders::All);
  store(filled, "a", "code of a");
  for (const Path& each : {temp.path(), temp.path() / "cache"}) ASSERT_EQ(::chmod(each.c_str(), 0755), 0);
  // Whether that user can load it in a namespace which knows nobody else; 3: there are no namespaces here.
  const auto loads = [&] {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setresuid(kUser, kUser, kUser) != 0 || ::unshare(CLONE_NEWUSER) != 0) ::_exit(3);
      ::prctl(PR_SET_DUMPABLE, 1);  // else /proc/self belongs to root
      std::ofstream("/proc/self/uid_map") << kUser << ' ' << kUser << " 1";
      if (::geteuid() != kUser) ::_exit(3);
      SharedCodeCache shared(directory, events);
      ::_exit(shared.load(key("a"), "shop", [](const Path&) { return true; }) ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
  };
  const int of_root = loads();
  if (of_root == 3) GTEST_SKIP() << "no user namespaces here";
  EXPECT_EQ(of_root, 0);
  // Outside of such a namespace, another user's is never trusted.
  for (const Path& each : {directory, code_file("a"), stamp_file("a")})
    ASSERT_EQ(::chown(each.c_str(), kOther, kOther), 0);
  SharedCodeCache shared(directory, events);
  EXPECT_FALSE(shared.load(key("a"), "shop", [](const Path&) { return true; }));
}

TEST_F(CodeCacheTest, NoticesChangedContent) {
  CodeCache cache = make();
  store(cache, "a", "code of a");
  ASSERT_TRUE(disk.write(code_file("a"), "evil of a").ok());
  EXPECT_EQ(load(cache, "a"), std::nullopt);
  EXPECT_THAT(events.take_messages(), ElementsAre(HasSubstr("was changed")));
  EXPECT_FALSE(disk.exists(code_file("a")));
  store(cache, "a", "code of a");
  EXPECT_EQ(load(cache, "a"), "code of a");
}

TEST_F(CodeCacheTest, TrustsACopyWithTheSameContent) {
  CodeCache cache = make();
  store(cache, "a", "code of a");
  ASSERT_TRUE(disk.write(code_file("a"), "code of a").ok());
  EXPECT_EQ(load(cache, "a"), "code of a");
  EXPECT_EQ(load(cache, "a"), "code of a");
  EXPECT_THAT(events.take_messages(), IsEmpty());
}

TEST_F(CodeCacheTest, DistrustsAChangeThatKeepsSizeAndMtime) {
  CodeCache cache = make();
  store(cache, "a", "code of a");
  struct stat info{};
  ASSERT_EQ(::stat(code_file("a").c_str(), &info), 0);
  {
    std::FILE* const file = std::fopen(code_file("a").c_str(), "r+");
    ASSERT_NE(file, nullptr);
    std::fputs("evil", file);
    std::fclose(file);
  }
  const timespec times[2] = {info.st_atim, info.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, code_file("a").c_str(), times, 0), 0);
  EXPECT_EQ(load(cache, "a"), std::nullopt) << "the ctime differs";
}

TEST_F(CodeCacheTest, RefusesLinksAndFilesOthersMayWrite) {
  CodeCache cache = make();
  store(cache, "a", "code of a");
  ASSERT_EQ(::chmod(code_file("a").c_str(), 0620), 0);
  EXPECT_EQ(load(cache, "a"), std::nullopt);
  EXPECT_THAT(events.take_messages(), ElementsAre(HasSubstr("others may write")));

  store(cache, "a", "code of a");
  const Path elsewhere = temp.path() / "elsewhere";
  ASSERT_TRUE(disk.rename(code_file("a"), elsewhere).ok());
  ASSERT_EQ(::symlink(elsewhere.c_str(), code_file("a").c_str()), 0);
  EXPECT_EQ(load(cache, "a"), std::nullopt);
  EXPECT_THAT(events.take_messages(), ElementsAre(HasSubstr("is a link")));
  EXPECT_TRUE(disk.exists(elsewhere));

  store(cache, "b", "code of b");
  ASSERT_TRUE(disk.remove(code_file("b")).ok());
  ASSERT_EQ(::mkfifo(code_file("b").c_str(), 0600), 0);
  EXPECT_EQ(load(cache, "b"), std::nullopt) << "and it does not wait for a writer";
}

TEST_F(CodeCacheTest, MissesWithoutAWarningWhenTheStampIsGone) {
  CodeCache cache = make();
  store(cache, "a", "code of a");
  ASSERT_TRUE(disk.remove(stamp_file("a")).ok());
  EXPECT_EQ(load(cache, "a"), std::nullopt);
  EXPECT_THAT(events.take_messages(), IsEmpty());
  store(cache, "a", "code of a");
  EXPECT_EQ(load(cache, "a"), "code of a");
}

TEST_F(CodeCacheTest, DistrustsAStampThatIsNone) {
  CodeCache cache = make();
  for (const std::string& stamp :
       {std::string(), std::string("x"), std::string(2000, 'a'), std::string("1 2 3 sha256:zz")}) {
    store(cache, "a", "code of a");
    ASSERT_TRUE(disk.write(stamp_file("a"), stamp).ok());
    EXPECT_EQ(load(cache, "a"), std::nullopt);
  }
}

TEST_F(CodeCacheTest, RemovesWhatCannotBeMapped) {
  CodeCache cache = make();
  store(cache, "a", "code of a");
  EXPECT_FALSE(cache.load(key("a"), "shop", [](const Path&) { return false; }));
  EXPECT_FALSE(disk.exists(code_file("a")));
  EXPECT_THAT(events.take_messages(), ElementsAre(HasSubstr("can't be used")));
}

TEST_F(CodeCacheTest, EvictsWhatWasUsedLongestAgo) {
  CodeCache cache = make(2500);
  const std::string code(1000, 'x');
  std::time_t age = 5000;
  for (const std::string_view name : {"old", "older but used", "newest"}) {
    store(cache, name, code);
    const timespec times[2] = {{::time(nullptr) - age, 0}, {::time(nullptr) - age, 0}};
    if (disk.exists(stamp_file(name))) {
      ASSERT_EQ(::utimensat(AT_FDCWD, stamp_file(name).c_str(), times, 0), 0);
    }
    age += 100;
    if (name == "older but used") {
      EXPECT_TRUE(load(cache, name).has_value());
    }  // renews its time
  }
  EXPECT_FALSE(disk.exists(code_file("old")));
  EXPECT_TRUE(disk.exists(code_file("older but used")));
  EXPECT_TRUE(disk.exists(code_file("newest")));
}

TEST_F(CodeCacheTest, KeepsWhatIsLargerThanAllOfItsRoom) {
  CodeCache cache = make(10);
  store(cache, "a", std::string(100, 'x'));
  EXPECT_TRUE(load(cache, "a").has_value());
}

TEST_F(CodeCacheTest, RemovesTemporaryFilesOfProcessesThatDied) {
  CodeCache cache = make();
  store(cache, "a", "code");
  const Path left = directory / ".x.code.99999.1.tmp";
  const Path fresh = directory / ".y.code.99999.1.tmp";
  ASSERT_TRUE(disk.write(left, "half").ok() && disk.write(fresh, "half").ok());
  const timespec times[2] = {{0, 0}, {0, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, left.c_str(), times, 0), 0);
  store(cache, "b", "code");
  EXPECT_FALSE(disk.exists(left));
  EXPECT_TRUE(disk.exists(fresh));
}

TEST_F(CodeCacheTest, WarnsOnceWhenItCannotWork) {
  ASSERT_TRUE(disk.write(directory.parent_path(), "a file where a directory should be").ok());
  CodeCache cache = make();
  store(cache, "a", "code");
  store(cache, "b", "code");
  EXPECT_EQ(load(cache, "a"), std::nullopt);
  EXPECT_THAT(events.take_messages(), ElementsAre(HasSubstr("compiled code is not cached")));
}

TEST_F(CodeCacheTest, WarnsOnceWhenTheDiskIsFull) {
  // A limit on the size of files stands in for a full disk; SIGXFSZ would end the process.
  std::signal(SIGXFSZ, SIG_IGN);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit small{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &small);
    CodeCache cache = make();
    store(cache, "a", std::string(100'000, 'x'));
    store(cache, "b", std::string(100'000, 'x'));
    const bool good = events.take_messages().size() == 1 && !load(cache, "a") && files() == 0;
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(CodeCacheTest, RefusesADirectoryThatOthersMayWrite) {
  ASSERT_TRUE(disk.make_directories(directory, 0700).ok());
  ASSERT_EQ(::chmod(directory.c_str(), 0777), 0);
  CodeCache cache = make();
  store(cache, "a", "code");
  EXPECT_EQ(files(), 0U);
  EXPECT_THAT(events.take_messages(), ElementsAre(HasSubstr("others may write to it")));
}

TEST_F(CodeCacheTest, DoesNothingWithoutADirectory) {
  CodeCache cache(Path(), 1000, events);
  store(cache, "a", "code");
  EXPECT_EQ(load(cache, "a"), std::nullopt);
  EXPECT_THAT(events.take_messages(), IsEmpty());
}

TEST_F(CodeCacheTest, IsFilledByManyThreadsAtOnce) {
  const std::string code(300'000, 'x');
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      CodeCache cache = make();
      for (int i = 0; i < 10; ++i) {
        const std::string name = fmt::format("module {}", i % 2);
        if (const auto loaded = load(cache, name)) {
          EXPECT_EQ(*loaded, code);
        }
        store(cache, name, code);
      }
    });
  }
  threads.clear();
  EXPECT_THAT(events.take_messages(), IsEmpty());
  EXPECT_EQ(files(), 5U) << "two entries and the lock";
}

// Processes that are killed at any moment leave nothing that a later one trusts wrongly or stumbles over.
TEST_F(CodeCacheTest, SurvivesKilledProcesses) {
  const std::string code(2'000'000, 'x');
  for (int round = 0; round < 20; ++round) {
    std::vector<pid_t> children;
    for (int i = 0; i < 3; ++i) {
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        CodeCache cache = make(3'000'000);
        for (int n = 0;; ++n) {
          const std::string name = fmt::format("module {}", n % 3);
          if (const auto loaded = load(cache, name); loaded && *loaded != code) ::_exit(2);
          store(cache, name, code);
        }
      }
      children.push_back(child);
    }
    ::usleep(static_cast<useconds_t>(3000 + 977 * round));
    for (const pid_t child : children) {
      ::kill(child, SIGKILL);
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_TRUE(WIFSIGNALED(status)) << "a process got wrong code: " << WEXITSTATUS(status);
    }
    CodeCache cache = make();
    store(cache, "after", code);
    EXPECT_EQ(load(cache, "after"), code);
  }
}

}  // namespace
}  // namespace mist::wasm
