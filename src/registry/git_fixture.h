#pragma once
// For tests only: a real git repository in a temporary directory, what it needs around it, and runners that
// fail on purpose.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/process.h"
#include "registry/registry.h"
#include "testing/home_fixture.h"

namespace mist::registry::testing {

/// A repository that people push packages into.
class Upstream {
 public:
  explicit Upstream(Path directory) : directory_(std::move(directory)) {
    std::filesystem::create_directories(directory_);
    git({"init", "--quiet", "--initial-branch=main"});
  }

  std::string git(std::vector<std::string> arguments) const {
    Command command;
    command.program = "git";
    command.arguments = std::move(arguments);
    command.directory = directory_;
    for (const char* who : {"AUTHOR", "COMMITTER"}) {
      command.env[fmt::format("GIT_{}_NAME", who)] = "Test";
      command.env[fmt::format("GIT_{}_EMAIL", who)] = "test@example.org";
    }
    command.env["GIT_CONFIG_GLOBAL"] = "/dev/null";
    const auto result = HostProcessRunner().run(command, Context());
    EXPECT_TRUE(result.ok() && result->exit_code == 0)
        << command.arguments[0] << ": " << (result.ok() ? result->err : result.error().to_line());
    return result.ok() ? result->out : "";
  }

  void put(const std::string& path, std::string_view bytes) const {
    ASSERT_TRUE(HostFileSystem().write(directory_ / path, bytes, {.durable = false}).ok());
  }
  void link(const std::string& path, const std::string& target) const {
    std::filesystem::create_directories((directory_ / path).parent_path());
    std::filesystem::create_symlink(target, directory_ / path);
  }
  /// The new commit.
  std::string commit() const {
    git({"add", "--all"});
    git({"commit", "--quiet", "--allow-empty", "-m", "change"});
    std::string id = git({"rev-parse", "HEAD"});
    return id.substr(0, id.size() - 1);
  }
  void allow_filters() const { git({"config", "uploadpack.allowFilter", "true"}); }

  const Path& path() const { return directory_; }
  std::string url() const { return "file://" + directory_.string(); }

 private:
  Path directory_;
};

/// Counts what runs, and lets a test step in: `before` may answer instead of the program.
class WatchedRunner final : public ProcessRunner {
 public:
  using Before = std::function<std::optional<Result<ProcessResult>>(const Command&)>;

  Result<ProcessResult> run(const Command& command, const Context& context) override {
    ++count;
    {
      const std::lock_guard lock(mutex_);
      commands.push_back(command);
    }
    if (before)
      if (auto instead = before(command)) return *std::move(instead);
    return real_.run(command, context);
  }

  static bool has(const Command& command, std::string_view argument) {
    return std::ranges::find(command.arguments, argument) != command.arguments.end();
  }

  std::atomic<int> count = 0;
  Before before;
  std::vector<Command> commands;

 private:
  std::mutex mutex_;
  HostProcessRunner real_;
};

/// An upstream, and registries whose home is beside it.
class RegistryFixture : public mist::testing::HomeFixture {
 protected:
  /// Another process, so to speak: shares nothing but the disk.
  Registries open() { return Registries({files, runner, events, paths, clock}); }

  void add_registry(const std::string& name = "r") {
    const Status added = open().add(registry_with_git(name, upstream.url()), Context());
    ASSERT_TRUE(added.ok()) << added.error().to_line();
  }

  Result<Fetched> fetch(std::string_view reference) {
    auto parsed = PackageRef::parse(reference);
    if (!parsed) return std::move(parsed).error();
    return open().fetch(*parsed, Context());
  }
  /// The module's bytes, or the error in one line.
  std::string fetch_text(std::string_view reference) {
    const auto fetched = fetch(reference);
    if (!fetched) return "error: " + fetched.error().to_line();
    const auto* module = std::get_if<PackageModule>(&fetched->content);
    return module != nullptr ? **module->bytes() : "a tree";
  }

  Upstream upstream{temp.path() / "upstream"};
  WatchedRunner runner;
};

}  // namespace mist::registry::testing
