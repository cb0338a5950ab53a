#pragma once
// A Machine for tests of the command line: streams in memory, a home directory of its own, no environment but
// what the test sets, no cluster. One thread, except the streams.

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fs.h"
#include "base/process.h"
#include "base/random.h"
#include "cli/machine.h"
#include "cli/run.h"
#include "testing/fake_clock.h"
#include "testing/temp_dir.h"

namespace mist::testing {

class FakeOutput final : public cli::Output {
 public:
  void write(std::string_view text) override {
    const std::lock_guard lock(mutex_);
    text_ += text;
    ++writes_;
  }
  Status flush() override {
    const std::lock_guard lock(mutex_);
    flushed.push_back(text_);
    return failure ? Status(*failure) : Status();
  }
  bool broken() override { return failure.has_value() || unread; }
  bool is_terminal() const override { return terminal; }
  int columns() const override { return width; }
  int rows() const override { return height; }

  /// All that was written since the last call.
  std::string take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(text_, {});
  }
  int writes() const {
    const std::lock_guard lock(mutex_);
    return writes_;
  }

  bool terminal = false;
  int width = 80;
  int height = 24;
  std::optional<Error> failure;      ///< what flush returns
  bool unread = false;               ///< its reader went away
  std::vector<std::string> flushed;  ///< of each flush: what was there and not taken

 private:
  mutable std::mutex mutex_;
  std::string text_;
  int writes_ = 0;
};

class FakeInput final : public cli::Input {
 public:
  bool is_terminal() const override { return terminal; }
  Result<std::optional<std::string>> read_line(const Context& context) override {
    MIST_TRY_VOID(context.check());
    if (lines.empty()) return std::optional<std::string>();
    std::optional<std::string> line(std::move(lines.front()));
    lines.pop_front();
    return line;
  }
  Result<std::string> read_all(std::uint64_t limit, const Context& context) override {
    MIST_TRY_VOID(context.check());
    std::string all;
    for (; !lines.empty(); lines.pop_front()) all += lines.front() + "\n";
    if (all.size() > limit) return error(ErrorKind::Invalid, "standard input is larger than {} bytes", limit);
    return all;
  }

  std::deque<std::string> lines;
  bool terminal = false;
};

struct FakeMachine {
  TempDir home;
  FakeInput in;
  FakeOutput out, err;
  HostFileSystem files;
  HostProcessRunner processes;
  FakeClock clock;
  SystemRandom random;
  std::map<std::string, std::string, std::less<>> environment{{"MIST_HOME_LOCATION", home.path().string()},
                                                              {"TERM", "xterm"}};
  NullEventSink events;
  cli::Machine machine{
      .build = {.version = "0.0.0-test", .commit = "none", .platform = "test/none", .compiler = "none"},
      .program = home.path() / "bin/mistctl",
      .in = in,
      .out = out,
      .err = err,
      .files = files,
      .processes = processes,
      .clock = clock,
      .random = random,
      .environment = [this](std::string_view name) -> std::optional<std::string> {
        const auto found = environment.find(name);
        return found == environment.end() ? std::nullopt : std::optional(found->second);
      },
      .events = &events,
  };

  /// Runs one command line, words only: no quotes.
  cli::ExitCode run(const std::vector<std::string>& args, const cli::CommandTable& table) {
    return cli::run(args, machine, table);
  }
};

}  // namespace mist::testing
