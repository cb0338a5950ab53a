#include "cli/output/progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "cli/output/jsonl_progress.h"
#include "cli/output/live_progress.h"
#include "cli/output/plain_progress.h"
#include "testing/fake_machine.h"

namespace mist::cli {
namespace {

using namespace std::chrono_literals;

// The part of a terminal that live progress relies on: lines, wrapping, cursor up, erase below. Narrowing
// reflows lines, as terminals do.
class TerminalScreen {
 public:
  explicit TerminalScreen(int columns) : columns_(columns) {}

  void write(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
      if (text[i] == '\n') {
        ++row_, column_ = 0, ++i;
        if (row_ >= lines_.size()) lines_.resize(row_ + 1);
      } else if (text[i] == '\r') {
        column_ = 0, ++i;
      } else if (text[i] == '\x1b') {
        const std::size_t end = text.find_first_not_of("0123456789;", i + 2);
        const std::string number(text.substr(i + 2, end - i - 2));
        if (text[end] == 'A') row_ -= number.empty() ? 1 : std::stoul(number);
        if (text[end] == 'K' && lines_[row_].size() > column_) lines_[row_].resize(column_);
        if (text[end] == 'J') {
          lines_.resize(row_ + 1);
          lines_[row_].resize(column_);
        }
        i = end + 1;
      } else {
        put(text, i);
      }
    }
  }

  std::string text() const {
    std::string out;
    for (const auto& line : lines_) {
      for (const std::string& cell : line) out += cell;
      out += '\n';
    }
    while (out.ends_with("\n\n")) out.pop_back();
    return out == "\n" ? "" : out;
  }

  void resize(int columns) {
    columns_ = columns;
    std::vector<std::vector<std::string>> old = std::exchange(lines_, {{}});
    row_ = column_ = 0;
    for (std::size_t i = 0; i < old.size(); ++i) {
      if (i > 0) write("\n");
      for (const std::string& cell : old[i]) write(cell);
    }
  }

 private:
  void put(std::string_view text, std::size_t& i) {
    std::size_t end = i + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
    if (column_ == static_cast<std::size_t>(columns_)) write("\n");
    auto& line = lines_[row_];
    if (line.size() <= column_) line.resize(column_ + 1, " ");
    line[column_++] = text.substr(i, end - i);
    i = end;
  }

  int columns_;
  std::size_t row_ = 0, column_ = 0;
  std::vector<std::vector<std::string>> lines_{{}};
};

struct Live : ::testing::Test {
  std::string screen() {
    live->draw();
    return shown();
  }
  std::string shown() {
    terminal.write(err.take());
    return terminal.text();
  }
  testing::FakeOutput err;
  testing::FakeClock clock;
  TerminalScreen terminal{40};
  std::unique_ptr<LiveProgress> live = [this] {
    err.width = 40;
    err.height = 10;
    return std::make_unique<LiveProgress>(ProgressOptions{}, err, clock, false);
  }();
};

TEST_F(Live, ShowsOnlyWhatTakesLonger) {
  live->began({1, "compiling"});
  EXPECT_EQ(screen(), "");
  clock.advance(200ms);
  EXPECT_NE(screen().find(" compiling  0.2s\n"), std::string::npos);
  live->ended({1, true});
  EXPECT_EQ(screen(), "");
}

TEST_F(Live, BytesStandBehindAnActivityHoweverLongItIs) {
  live->began({1, "uploading a package to somewhere"});
  live->progressed({1, 37'400'000, 200'000'000});
  live->progressed({2, 1, 2});
  clock.advance(1500ms);
  EXPECT_EQ(screen(), "⠋ uploading a pac… (37 of 200 MB)  1.5s\n");
  live->progressed({1, 199'900'000, 200'000'000});
  EXPECT_EQ(screen(), "⠋ uploading a pa… (200 of 200 MB)  1.5s\n");
}

TEST(TransferredText, HasTheUnitOfTheTotal) {
  EXPECT_EQ(transferred_text({1, 0, 999}), "0 of 999 bytes");
  EXPECT_EQ(transferred_text({1, 250, 1500}), "0.2 of 1.5 kB");
  EXPECT_EQ(transferred_text({1, 262'144, 524'288}), "262 of 524 kB");
  EXPECT_EQ(transferred_text({1, 500'000, 2'300'000}), "0.5 of 2.3 MB");
  EXPECT_EQ(transferred_text({1, 37'000'000, 200'000'000}), "37 of 200 MB");
  EXPECT_EQ(transferred_text({1, 900'000'000, 2'100'000'000}), "0.9 of 2.1 GB");
}

TEST_F(Live, TheLastPictureOfTheTreeStays) {
  live->object({"ConfigMap a", "created", ""});
  live->object({"Deployment b", "waiting", "0 of 1"});
  clock.advance(1500ms);
  EXPECT_EQ(screen(), "✓ ConfigMap a  created\n⠋ Deployment b  waiting: 0 of 1  1.5s\n");
  live->object({"Deployment b", "ready", ""});
  live.reset();
  EXPECT_EQ(shown(), "✓ ConfigMap a  created\n✓ Deployment b  ready\n");
}

TEST_F(Live, RewritesOnlyTheLinesThatChanged) {
  live->object({"ConfigMap a", "created", ""});
  live->object({"Deployment b", "waiting", "0 of 1"});
  (void)screen();
  live->object({"Deployment b", "waiting", "1 of 1"});
  live->draw();
  const std::string text = err.take();
  EXPECT_EQ(text.find("ConfigMap"), std::string::npos) << text;
  EXPECT_EQ(text.find("\x1b[J"), std::string::npos) << "nothing is blank in between";
  terminal.write(text);
  EXPECT_EQ(terminal.text(), "✓ ConfigMap a  created\n⠋ Deployment b  waiting: 1 of 1  0.0s\n");
}

TEST_F(Live, AnAreaThatBecomesSmallerLeavesNothingBehind) {
  live->began({1, "working"});
  live->object({"Deployment b", "waiting", ""});
  clock.advance(1s);
  (void)screen();
  live->ended({1, true});
  EXPECT_EQ(screen(), "⠋ Deployment b  waiting  1.0s\n");
  live->object({"Deployment b", "ready", ""});
  EXPECT_EQ(screen(), "✓ Deployment b  ready\n");
  live->warn("late");
  EXPECT_EQ(shown(), "warning: late\n✓ Deployment b  ready\n");
}

TEST_F(Live, MakesRoomForWhatOthersWrite) {
  live->began({1, "working"});
  live->object({"Deployment b", "waiting", ""});
  clock.advance(1s);
  (void)screen();
  {
    const ScreenPause pause(live->screen());
    EXPECT_EQ(shown(), "");
    err.write("a result\n");
    live->warn("meanwhile");
    live->object({"Deployment b", "waiting", "1 of 3"});
    EXPECT_EQ(screen(), "a result\n");
    {
      const ScreenPause again(live->screen());
    }
    EXPECT_EQ(screen(), "a result\n");
  }
  EXPECT_EQ(shown(),
            "a result\nwarning: meanwhile\n⠋ working  1.0s\n⠋ Deployment b  waiting: 1 of 3  1.0s\n");
}

TEST_F(Live, ExplainsAPlanBeforeItIsCarriedOut) {
  live = std::make_unique<LiveProgress>(ProgressOptions{.explain = true}, err, clock, false);
  live->planned({.operation = "install",
                 .ns = "shop",
                 .release = "web",
                 .revision = 0,
                 .objects = {{.object = "Job x", .action = "create", .reason = "it isn't there"}}});
  live->object({"Job x", "created", ""});
  live.reset();
  EXPECT_EQ(shown(),
            "plan: install shop/web, revision 0\n  create Job x: it isn't there\n✓ Job x  created\n");
}

TEST_F(Live, WarningsAppearAtOnceAboveTheArea) {
  live->began({1, "working"});
  clock.advance(1s);
  (void)screen();
  live->warn("beware \x1b[31m");
  EXPECT_EQ(shown().substr(0, 23), "warning: beware \\x1b[31");
  EXPECT_NE(shown().find("working"), std::string::npos);
}

TEST_F(Live, LinesNeverReachTheLastColumn) {
  live->began({1, std::string(200, 'x')});
  clock.advance(100s);
  for (const int width : {40, 20, 11, 5, 1}) {
    err.width = width;
    terminal.resize(width);
    terminal = TerminalScreen(width);
    live->draw();
    std::string text = err.take();
    if (const auto erase = text.rfind("\x1b[J"); erase != std::string::npos) text.erase(0, erase + 3);
    TerminalScreen fresh(width);
    fresh.write(text);
    EXPECT_LE(std::ranges::count(fresh.text(), '\n'), 1) << width;
  }
}

TEST_F(Live, ANarrowedTerminalIsStillErasedWhole) {
  live->object({"Deployment a-rather-long-name", "waiting", ""});
  live->object({"Deployment b-rather-long-name", "waiting", ""});
  clock.advance(1s);
  (void)screen();
  err.width = 16;
  terminal.resize(16);
  live->object({"Deployment a-rather-long-name", "ready", ""});
  live->object({"Deployment b-rather-long-name", "ready", ""});
  live.reset();
  EXPECT_EQ(shown(), "  Deployment\n✓   a-ra…ame  …\n✓   b-ra…ame  …\n");
}

TEST_F(Live, AWidenedTerminalIsUsed) {
  live->object({"Deployment a-very-long-name-of-something", "waiting", "1 of 2"});
  (void)screen();
  err.width = 80;
  terminal.resize(80);
  EXPECT_EQ(screen(), "⠋ Deployment a-very-long-name-of-something  waiting: 1 of 2  0.0s\n");
}

TEST_F(Live, ManyRowsAreCounted) {
  for (int i = 10; i < 40; ++i) live->object({fmt::format("Job {}", i), "waiting", ""});
  clock.advance(1s);
  const std::string text = screen();
  EXPECT_EQ(std::ranges::count(text, '\n'), 9);
  EXPECT_NE(text.find("… and 23 more"), std::string::npos) << text;
}

TEST_F(Live, LeavesACleanScreen) {
  live->began({1, "working"});
  clock.advance(1s);
  (void)screen();
  live.reset();
  EXPECT_EQ(shown(), "");
}

TEST_F(Live, EachFrameIsOneWrite) {
  live->began({1, "working"});
  live->object({"Deployment b", "waiting", ""});
  clock.advance(1s);
  const int before = err.writes();
  live->draw();
  EXPECT_LE(err.writes() - before, 1);
  const std::string text = err.take();
  EXPECT_EQ(text.find("\x1b[?25"), std::string::npos) << "the cursor is left alone";
}

TEST_F(Live, ThreadsMayReportAtOnce) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        Activity activity(*live, "x");
        live->object({fmt::format("Job {}-{}", t, i), "waiting", ""});
        live->object({fmt::format("Job {}-{}", t, i), "ready", ""});
      }
    });
  threads.clear();
  err.height = 2000;
  live.reset();
  EXPECT_EQ(std::ranges::count(shown(), '\n'), 1601);
}

struct Plain : ::testing::Test {
  std::unique_ptr<EventSink> sink(ProgressOptions options) {
    return std::make_unique<PlainProgress>(options, err, clock, false);
  }
  testing::FakeOutput err;
  testing::FakeClock clock;
};

TEST_F(Plain, SaysEachThingOnce) {
  const auto plain = sink({});
  plain->info("hello");
  plain->debug("details");
  plain->warn("careful\x07");
  plain->object({"Job a", "waiting", "0 of 1"});
  plain->object({"Job a", "waiting", "0 of 1"});
  plain->object({"Job a", "ready", ""});
  EXPECT_EQ(err.take(), "hello\nwarning: careful\\x07\nJob a: waiting (0 of 1)\nJob a: ready\n");
}

TEST_F(Plain, ShowsWhatTakesLongWhenThePulseBeats) {
  Pulse pulse;
  EXPECT_EQ(pulse.beat(), Pulse::kLater);
  auto plain = std::make_unique<PlainProgress>(ProgressOptions{}, err, clock, false, &pulse);
  EXPECT_EQ(pulse.beat(), Pulse::kLater);
  plain->began({1, "compiling"});
  EXPECT_EQ(pulse.beat(), Pulse::kSoon);
  EXPECT_EQ(err.take(), "");
  clock.advance(1s);
  EXPECT_EQ(pulse.beat(), Pulse::kLater);
  EXPECT_EQ(err.take(), "… compiling\n");
  plain->ended({1, true});
  plain.reset();
  EXPECT_EQ(pulse.beat(), Pulse::kLater);
}

TEST_F(Plain, WhatStaysAsItIsIsNoNews) {
  sink({})->object({"Job a", "unchanged", ""});
  EXPECT_EQ(err.take(), "");
  sink({.verbosity = 1})->object({"Job a", "unchanged", ""});
  EXPECT_EQ(err.take(), "Job a: unchanged\n");
}

TEST_F(Plain, ExplainsWhereItIsAskedTo) {
  const PlanAnnounced plan{.operation = "upgrade", .ns = "shop", .release = "web", .revision = 3};
  sink({})->planned(plan);
  EXPECT_EQ(err.take(), "");
  sink({.explain = true})->planned(plan);
  EXPECT_EQ(err.take(), "plan: upgrade shop/web, revision 3\n");
}

TEST_F(Plain, ShortActivitiesStaySilent) {
  const auto plain = sink({});
  {
    const Activity activity(*plain, "quick");
  }
  EXPECT_EQ(err.take(), "");
}

TEST_F(Plain, LongActivitiesAreAnnounced) {
  const auto plain = sink({});
  const Activity activity(*plain, "slow");
  clock.advance(1s);
  std::string text;
  while (text.empty()) {
    std::this_thread::yield();
    text = err.take();
  }
  EXPECT_EQ(text, "… slow\n");
}

TEST_F(Plain, VerboseTellsBothEnds) {
  const auto plain = sink({.verbosity = 1});
  plain->debug("details");
  {
    Activity activity(*plain, "work");
    clock.advance(300ms);
    activity.fail();
  }
  EXPECT_EQ(err.take(), "details\n… work\n… work failed after 0.3s\n");
}

TEST_F(Plain, QuietKeepsWarnings) {
  const auto plain = sink({.quiet = true});
  plain->info("hello");
  plain->warn("careful");
  plain->object({"Job a", "ready", ""});
  {
    const Activity activity(*plain, "quick");
  }
  EXPECT_EQ(err.take(), "warning: careful\n");
}

TEST(MakeProgress, DrawsOnlyOnACapableTerminal) {
  testing::FakeMachine fake;
  const auto live = [&](ProgressOptions options = {}) {
    return dynamic_cast<LiveProgress*>(make_progress(options, fake.machine).get()) != nullptr;
  };
  EXPECT_FALSE(live());
  fake.err.terminal = true;
  EXPECT_TRUE(live());
  EXPECT_FALSE(live({.quiet = true}));
  EXPECT_FALSE(live({.verbosity = 1}));
  EXPECT_FALSE(live({.form = ProgressForm::Lines}));
  EXPECT_FALSE(live({.form = ProgressForm::Jsonl}));
  fake.environment["TERM"] = "dumb";
  EXPECT_FALSE(live());
}

TEST(Jsonl, BytesOfAnActivityAreAnEvent) {
  testing::FakeMachine fake;
  const auto progress = make_progress({.form = ProgressForm::Jsonl}, fake.machine);
  progress->began({7, "uploading it"});
  (void)fake.err.take();
  progress->progressed({7, 37, 200});
  const std::string line = fake.err.take();
  EXPECT_NE(line.find(R"("event":"progress","text":"uploading it","bytes":37,"totalBytes":200,"time":)"),
            std::string::npos)
      << line;
  progress->progressed({8, 37, 200});
  EXPECT_EQ(fake.err.take(), "") << "of an activity that nobody began";
  const auto quiet = make_progress({.quiet = true, .form = ProgressForm::Jsonl}, fake.machine);
  quiet->began({7, "uploading it"});
  quiet->progressed({7, 37, 200});
  EXPECT_EQ(fake.err.take(), "");
}

TEST(Jsonl, ATerminalObeysNoEvent) {
  testing::FakeMachine fake;
  fake.err.terminal = true;
  make_progress({.form = ProgressForm::Jsonl}, fake.machine)->warn("a\u202eb");
  const Error failure = error(ErrorKind::Invalid, "c\u202ed");
  write_finished_event(fake.err, {}, {}, ExitCode::Failed, &failure);
  const std::string lines = fake.err.take();
  EXPECT_NE(lines.find("a\\u202eb"), std::string::npos) << lines;
  EXPECT_NE(lines.find("c\\u202ed"), std::string::npos) << lines;
  EXPECT_EQ(lines.find("\u202e"), std::string::npos) << lines;
}

}  // namespace
}  // namespace mist::cli
