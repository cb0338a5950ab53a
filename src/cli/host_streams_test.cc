#include "cli/host_streams.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/handle.h"
#include "testing/temp_dir.h"

namespace mist::cli {
namespace {

// Notes how much had been written when it was asked to go, and when it was drawn again.
class NotingScreen final : public Screen {
 public:
  explicit NotingScreen(Path file) : file_(std::move(file)) {}
  void suspend() override { away = true; }
  void resume() override {
    away = false;
    shown_below.push_back(text());
  }
  std::string text() const { return HostFileSystem().read(file_, std::uint64_t{1} << 24).value_or("?"); }

  bool away = false;
  std::vector<std::string> shown_below;

 private:
  Path file_;
};

struct SharedOutput : ::testing::Test {
  testing::TempDir folder;
  Path file = folder.path() / "out";
  UniqueFd fd{::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
  HostOutput out{fd.get(), "standard output", Buffering::Blocks};
  NotingScreen screen{file};
};

TEST_F(SharedOutput, WholeLinesOnlyAboveWhatIsDrawn) {
  out.share(&screen);
  std::string all;
  for (int i = 0; i < 40'000; ++i) {
    const std::string piece = fmt::format("line {}{}", i, i % 3 == 0 ? "" : "\n");
    out.write(piece);
    all += piece;
  }
  ASSERT_GE(screen.shown_below.size(), 3U) << "more than a block is not kept back";
  for (const std::string& above : screen.shown_below) EXPECT_TRUE(above.ends_with('\n'));
  EXPECT_FALSE(screen.away);
  out.write("half");
  EXPECT_TRUE(out.flush().ok());
  EXPECT_TRUE(screen.text().ends_with('\n'));
  out.share(nullptr);
  EXPECT_TRUE(out.flush().ok());
  EXPECT_EQ(screen.text(), all + "half");
}

TEST(HostOutputs, AreBrokenOnceTheirReaderIsGone) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd reader(ends[0]), writer(ends[1]);
  HostOutput out(writer.get(), "standard output", Buffering::Blocks);
  EXPECT_FALSE(out.broken());
  out.write("one");
  EXPECT_TRUE(out.flush().ok());
  EXPECT_FALSE(out.broken());
  reader = UniqueFd();
  EXPECT_TRUE(out.broken()) << "nothing has to be written for it";
}

TEST(HostOutputs, AreBrokenOnceAWriteFailed) {
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full);
  HostOutput out(full.get(), "standard output", Buffering::Blocks);
  EXPECT_FALSE(out.broken());
  out.write("one");
  EXPECT_FALSE(out.flush().ok());
  EXPECT_TRUE(out.broken());
  EXPECT_FALSE(out.flush().ok()) << "it is told again";
}

TEST_F(SharedOutput, NothingToWriteLeavesTheScreenAlone) {
  out.share(&screen);
  EXPECT_TRUE(out.flush().ok());
  out.write("half");
  EXPECT_TRUE(out.flush().ok());
  EXPECT_TRUE(screen.shown_below.empty());
}

}  // namespace
}  // namespace mist::cli
