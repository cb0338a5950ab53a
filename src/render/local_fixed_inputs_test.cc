#include "render/local_fixed_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <string_view>

#include "testing/recorded_events.h"
#include "testing/temp_dir.h"

namespace mist::render {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LocalFixedInputs : public ::testing::Test {
 protected:
  Result<FixedInputs> drawn(const std::string& name, SeedFile missing = SeedFile::MayBeMade) {
    return local_fixed_inputs(files, random, clock, events, path, missing, {"default", name});
  }
  testing::TempDir dir;
  const Path path = dir.path() / "state/seed";
  HostFileSystem files;
  SystemRandom random;
  SystemClock clock;
  testing::RecordedEvents events;
};

TEST_F(LocalFixedInputs, IsDrawnOnceAndKeptForItsOwnerOnly) {
  const auto first = drawn("web");
  ASSERT_TRUE(first.ok()) << first.error().to_line();
  EXPECT_EQ(first->seed.reveal().size(), 32u);
  const auto again = drawn("web");
  EXPECT_EQ(again->seed, first->seed);
  EXPECT_EQ(again->frozen_clock, first->frozen_clock);
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(LocalFixedInputs, TwoReleasesNeverDrawTheSame) {
  EXPECT_NE(drawn("web")->seed, drawn("shop")->seed);
  EXPECT_NE(
      drawn("web")->seed,
      local_fixed_inputs(files, random, clock, events, path, SeedFile::MustExist, {"other", "web"})->seed);
}

TEST_F(LocalFixedInputs, NamedFileMustExist) {
  EXPECT_EQ(drawn("web", SeedFile::MustExist).error().kind, ErrorKind::NotFound);
  EXPECT_FALSE(files.exists(path));
}

// GitOps: another mistctl must not change the passwords of what is rendered from a file that is there.
TEST_F(LocalFixedInputs, ChartsDrawAsTheFileSays) {
  EXPECT_FALSE(drawn("web")->charts_share_seed);
  EXPECT_FALSE(drawn("web")->charts_share_seed) << "from the file that was made";
  const auto with = [&](std::string_view more) {
    EXPECT_TRUE(files
                    .write(path,
                           R"({"seed":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=","clock":)"
                           R"("2026-01-01T00:00:00Z")" +
                               std::string(more) + "}",
                           {.mode = 0600})
                    .ok());
    return drawn("web");
  };
  EXPECT_TRUE(with("")->charts_share_seed);
  EXPECT_FALSE(with(R"(,"chartSeeds":"own")")->charts_share_seed);
  EXPECT_THAT(with(R"(,"chartSeeds":"each")").error().message, HasSubstr("damaged"));
}

// A home that can't be written, a full disk.
TEST_F(LocalFixedInputs, IsForThisTimeOnlyWhereItCannotBeKept) {
  const auto lost = [&] {
    return local_fixed_inputs(files, random, clock, events, "/proc/mistletoe/seed", SeedFile::MayBeMade,
                              {"default", "web"});
  };
  const auto once = lost();
  ASSERT_TRUE(once.ok()) << once.error().to_line();
  EXPECT_EQ(once->seed.reveal().size(), 32u);
  EXPECT_NE(lost()->seed, once->seed);
  EXPECT_THAT(events.messages, ElementsAre(HasSubstr("--seed-file"), HasSubstr("--seed-file")));
}

TEST_F(LocalFixedInputs, DamagedOrReadableByOthersIsRefusedAndKept) {
  ASSERT_TRUE(files.write(path, "{}", {.mode = 0600}).ok());
  EXPECT_THAT(drawn("web").error().message, HasSubstr("damaged"));
  EXPECT_EQ(*files.read(path), "{}");
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_THAT(drawn("web").error().hint, HasSubstr("chmod 600"));
}

TEST_F(LocalFixedInputs, MountedMayBeReadByOthersAndMustExist) {
  EXPECT_EQ(drawn("web", SeedFile::Mounted).error().kind, ErrorKind::NotFound);
  EXPECT_FALSE(files.exists(path));
  const auto own = drawn("web");
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  const auto mounted = drawn("web", SeedFile::Mounted);
  ASSERT_TRUE(mounted.ok()) << mounted.error().to_line();
  EXPECT_EQ(mounted->seed, own->seed);
}

}  // namespace
}  // namespace mist::render
