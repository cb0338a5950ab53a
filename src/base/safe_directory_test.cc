#include "base/safe_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testing/temp_dir.h"

namespace mist {
namespace {

using ::testing::HasSubstr;

constexpr unsigned kNobody = 65534;

class SafeDirectory : public ::testing::Test {
 protected:
  Path make(const std::string& name, unsigned mode) {
    const Path path = dir_.path() / name;
    std::filesystem::create_directories(path);
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  static std::string why(const Path& path) { return why(path, SafeOwners::of_process()); }
  static std::string why(const Path& path, const SafeOwners& owners) {
    const Status safe = check_safe_directory(path, owners);
    if (safe.ok()) return "";
    EXPECT_EQ(safe.error().kind, ErrorKind::Forbidden);
    return safe.error().because;
  }
  testing::TempDir dir_;
};

TEST_F(SafeDirectory, MayBelongToThisUserAlone) {
  EXPECT_EQ(why(make("mine", 0700)), "");
  EXPECT_EQ(why(make("readable", 0755)), "");
  EXPECT_EQ(why(dir_.path() / "not/yet/made"), "");
  EXPECT_FALSE(std::filesystem::exists(dir_.path() / "not"));
}

TEST_F(SafeDirectory, IsNotOneThatOthersMayWriteTo) {
  const Path open = make("open", 0777);
  EXPECT_THAT(why(open), HasSubstr("everybody may write"));
  EXPECT_THAT(why(make("open/inside", 0700)), HasSubstr((dir_.path() / "open").string() + ": everybody"));
  EXPECT_THAT(why(open / "not/yet"), HasSubstr("everybody may write"));
  const Status safe = check_safe_directory(open);
  ASSERT_FALSE(safe.ok());
  EXPECT_EQ(safe.error().hint, "chmod o-w " + open.string());
}

TEST_F(SafeDirectory, IsNotAStickyOneButMayLieInIt) {
  const Path shared = make("shared", 01777);
  EXPECT_THAT(why(shared), HasSubstr("everybody may write"));
  EXPECT_EQ(why(make("shared/mine", 0700)), "");
}

TEST_F(SafeDirectory, IsMadeAtOnceWhereOthersCouldMakeIt) {
  const Path shared = make("shared", 01777);
  EXPECT_EQ(why(shared / "new/deep"), "");
  struct stat info{};
  ASSERT_EQ(::stat((shared / "new").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0700U);
  EXPECT_FALSE(std::filesystem::exists(shared / "new/deep"));
}

TEST_F(SafeDirectory, IsLookedForBehindLinks) {
  const Path open = make("open", 0777);
  make("open/inside", 0700);
  std::filesystem::create_directory_symlink(open / "inside", dir_.path() / "link");
  std::filesystem::create_directory_symlink("link", dir_.path() / "second");
  EXPECT_THAT(why(dir_.path() / "second"), HasSubstr(open.string() + ": everybody"));
  make("mine/below", 0700);
  std::filesystem::create_directory_symlink("../mine/below/..", dir_.path() / "mine/up");
  EXPECT_EQ(why(dir_.path() / "mine/up"), "");
  std::filesystem::create_directory_symlink("round", dir_.path() / "round");
  EXPECT_FALSE(check_safe_directory(dir_.path() / "round").ok());
}

TEST_F(SafeDirectory, AFileIsSafeWhereOnlyThisUserMayWriteIt) {
  const auto file = [&](const std::string& name, unsigned mode) {
    const Path path = dir_.path() / name;
    EXPECT_TRUE(HostFileSystem().write(path, "x", {.mode = mode}).ok());
    return path;
  };
  const auto why_not = [](const Path& path) {
    const Status safe = check_safe_file(path);
    return safe ? std::string() : safe.error().because;
  };
  EXPECT_EQ(why_not(file("mine", 0644)), "");
  EXPECT_THAT(why_not(file("open", 0666)), HasSubstr("others may write it (mode 0666)"));
  EXPECT_EQ(check_safe_file(dir_.path() / "open").error().hint,
            "chmod go-w " + (dir_.path() / "open").string());
  make("shared", 0777);
  EXPECT_THAT(why_not(file("shared/inside", 0600)), HasSubstr("everybody may write"));
  std::filesystem::create_symlink(dir_.path() / "open", dir_.path() / "link");
  EXPECT_THAT(why_not(dir_.path() / "link"), HasSubstr("others may write it"));
  EXPECT_EQ(why_not(dir_.path() / "missing"), "");
  make("sticky", 01777);
  EXPECT_EQ(why_not(file("sticky/mine", 0600)), "");
  EXPECT_THAT(why_not(dir_.path() / "sticky/missing"), HasSubstr("everybody may write"));
  EXPECT_FALSE(std::filesystem::exists(dir_.path() / "sticky/missing"));
}

TEST_F(SafeDirectory, OfAnotherUserIsNone) {
  const Path mine = make("mine", 0700);
  // Seen by somebody else, this user is the other one, unless it is root, whom everybody has to trust.
  if (::geteuid() != 0) {
    EXPECT_THAT(why(mine, {.user = kNobody, .also = kNobody}), HasSubstr("belongs to"));
    EXPECT_EQ(why(mine, {.user = kNobody, .also = ::geteuid()}), "");
    return;
  }
  ASSERT_EQ(::chown(mine.c_str(), kNobody, 0), 0);
  EXPECT_THAT(why(mine), HasSubstr("65534"));
  EXPECT_THAT(why(mine / "deeper"), HasSubstr("65534"));
  EXPECT_EQ(why(mine, {.user = 0, .also = kNobody}), "");  // the user who ran sudo
}

TEST_F(SafeDirectory, OfAGroupWithOthersIsNone) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory to another group";
  const Path mine = make("mine", 0770);
  EXPECT_EQ(why(mine), "");  // root's own group
  ASSERT_EQ(::chown(mine.c_str(), 0, 12345), 0);
  EXPECT_THAT(why(mine), HasSubstr("group 12345 may write"));
}

TEST_F(SafeDirectory, AFileIsNotItsBusiness) {
  HostFileSystem files;
  ASSERT_TRUE(files.write(dir_.path() / "file", "x").ok());
  EXPECT_EQ(why(dir_.path() / "file"), "");
}

}  // namespace
}  // namespace mist
