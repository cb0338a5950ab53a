#include "cli/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/duration.h"
#include "base/text.h"
#include "cli/output/help.h"
#include "cli/output/manual.h"
#include "cli/parse/flags.h"
#include "testing/fake_machine.h"
#include "view/display_width.h"

namespace mist::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string page_of(const Command& command) {
  return std::string(command.path.substr(0, command.path.find(' ')));
}

template <typename Visit>
void each_flag(Visit visit) {
  for (const Command* command : command_table().commands)
    for (const FlagGroup& group : command->flags)
      for (const Flag& flag : group.flags) visit(*command, flag);
}

TEST(Commands, ANameOrLetterTakesAValueEverywhereOrNowhere) {
  std::map<std::string, bool> takes;
  for (const Flag& flag : kGlobalFlags.flags) {
    takes[std::string(flag.name)] = takes_value(flag);
    if (flag.letter != 0) takes[std::string(1, flag.letter)] = takes_value(flag);
  }
  each_flag([&](const Command& command, const Flag& flag) {
    EXPECT_EQ(takes.try_emplace(std::string(flag.name), takes_value(flag)).first->second, takes_value(flag))
        << command.path << " --" << flag.name;
    if (flag.letter != 0) {
      EXPECT_EQ(takes.try_emplace(std::string(1, flag.letter), takes_value(flag)).first->second,
                takes_value(flag))
          << command.path << " -" << flag.letter;
    }
  });
}

TEST(Commands, NoFlagHidesAnother) {
  for (const Command* command : command_table().commands) {
    std::multiset<std::string> names;
    const auto count = [&](const FlagGroup& group) {
      for (const Flag& flag : group.flags) {
        names.insert(std::string(flag.name));
        if (flag.letter != 0) names.insert(std::string(1, flag.letter));
      }
    };
    for (const FlagGroup& group : command->flags) count(group);
    count(kGlobalFlags);
    for (const std::string& name : names) EXPECT_EQ(names.count(name), 1u) << command->path << " " << name;
  }
}

// kpm's commands run code of mistctl's, and a handler that asks for a flag that its command lacks aborts.
TEST(Commands, KpmHasTheFlagsThatSharedCodeAsksFor) {
  struct Shared {
    std::string_view ours;
    std::string_view theirs;
    std::set<std::string_view> left_out;  // flags that only the other command's own handler asks for
  };
  const Shared all_shared[] = {
      {"kpm uninstall", "uninstall", {}},
      {"kpm status", "status", {}},
      {"kpm history", "history", {}},
      {"kpm rollback", "rollback", {}},
      {"kpm install", "install", {"package", "engine", "plain-http", "seed-file", "verify", "keyring"}},
  };
  const auto find = [](std::string_view path) {
    const auto& commands = command_table().commands;
    const auto found =
        std::ranges::find_if(commands, [&](const Command* each) { return each->path == path; });
    EXPECT_NE(found, commands.end()) << path;
    return *found;
  };
  for (const Shared& shared : all_shared) {
    for (const FlagGroup& group : find(shared.theirs)->flags)
      for (const Flag& flag : group.flags) {
        if (shared.left_out.contains(flag.name)) continue;
        const Flag* const ours = find_flag(*find(shared.ours), flag.name);
        EXPECT_NE(ours, nullptr) << shared.ours << " --" << flag.name;
        if (ours != nullptr) {
          EXPECT_EQ(ours->type, flag.type) << shared.ours << " --" << flag.name;
        }
      }
  }
}

// bin/kpm is the same program; main() puts the group's name before the words.
TEST(Commands, AreNamedAsTheProgramWasCalled) {
  CommandTable kpm = command_table();
  kpm.called_as = "kpm";
  struct Called {
    std::vector<std::string> args;
    std::string_view as_kpm, as_mistctl;
  };
  const Called calls[] = {
      {{"kpm", "install"},
       "error: kpm install needs KUBE\n  try: kpm install KUBE [flags]\n",
       "error: mistctl kpm install needs KUBE\n  try: mistctl kpm install KUBE [flags]\n"},
      {{"kpm", "install", "a", "b"},
       "error: kpm install can't use the argument",
       "error: mistctl kpm install"},
      {{"kpm", "instal"},
       "error: kpm has no command \"instal\"\n  try: did you mean kpm install?\n",
       "error: mistctl kpm has no command \"instal\"\n  try: did you mean mistctl kpm install?\n"},
      {{"kpm", "frobnicate"}, "  try: kpm --help lists them\n", "  try: mistctl kpm --help lists them\n"},
      {{"kpm"}, "error: kpm needs a command\n  try: kpm list|", "error: mistctl kpm needs a command"},
      {{"kpm", "update", "--forec"},
       "error: kpm update has no flag --forec\n",
       "error: mistctl kpm update has no flag"},
      {{"kpm", "install", "--help"}, "  kpm install KUBE [flags]\n", "  mistctl kpm install KUBE [flags]\n"},
      {{"kpm", "help", "install"}, "  kpm install KUBE [flags]\n", "  mistctl kpm install KUBE [flags]\n"},
      {{"kpm", "update", "--help"},
       "The whole manual page: kpm help kpm\n",
       "The whole manual page: mistctl help"},
      {{"kpm", "help", "kpm"}, "KPM_HOME", "KPM_HOME"},
      {{"kpm", "rollback", "web", "x"}, "as kpm history shows it", "as mistctl history shows it"},
      {{"kpm", "help", "instal"}, "did you mean kpm install?", "did you mean mistctl kpm install?"},
      {{"kpm", "--help"},
       "More about one: kpm COMMAND --help\n",
       "More about one: mistctl kpm COMMAND --help\n"},
      // Other commands are mistctl's.
      {{"status"}, "error: mistctl status needs NAME", "error: mistctl status needs NAME"},
  };
  for (const Called& each : calls) {
    testing::FakeMachine fake;
    fake.run(each.args, kpm);
    EXPECT_THAT(fake.out.take() + fake.err.take(), ::testing::HasSubstr(each.as_kpm));
    fake.run(each.args, command_table());
    EXPECT_THAT(fake.out.take() + fake.err.take(), ::testing::HasSubstr(each.as_mistctl));
  }
}

TEST(Commands, RecordsAreComplete) {
  std::set<std::string_view> paths;
  for (const Command* command : command_table().commands) {
    EXPECT_TRUE(paths.insert(command->path).second) << command->path;
    EXPECT_NE(command->run, nullptr) << command->path;
    EXPECT_FALSE(command->summary.empty()) << command->path;
    EXPECT_FALSE(command->summary.ends_with('.')) << command->path;
    if (!command->hidden) {
      EXPECT_NE(find_page(page_of(*command)), nullptr) << "no page for " << command->path;
    }
    if (const auto space = command->path.find(' '); space != std::string_view::npos) {
      EXPECT_TRUE(std::ranges::any_of(
          command_table().groups,
          [&](const CommandGroup& group) { return group.name == command->path.substr(0, space); }))
          << command->path << " needs its group";
    }
    for (std::size_t i = 0; i + 1 < command->arguments.size(); ++i)
      EXPECT_TRUE(command->arguments[i].arity == Arity::Required ||
                  command->arguments[i].arity == Arity::Optional)
          << command->path;
  }
}

TEST(Commands, FallbacksAreValues) {
  each_flag([&](const Command& command, const Flag& flag) {
    const std::string where = fmt::format("{} --{}", command.path, flag.name);
    EXPECT_FALSE(flag.help.empty()) << where;
    EXPECT_FALSE(flag.help.ends_with('.')) << where;
    EXPECT_EQ(flag.type == FlagType::Bool || flag.type == FlagType::Count, flag.value.empty()) << where;
    if (flag.type == FlagType::Duration && !flag.fallback.empty()) {
      EXPECT_TRUE(parse_duration(flag.fallback).ok()) << where;
    }
    if (flag.type == FlagType::Choice && !flag.fallback.empty()) {
      EXPECT_NE(std::ranges::find(flag.choices, flag.fallback), flag.choices.end()) << where;
    }
  });
}

TEST(Commands, EveryPageBelongsToACommand) {
  for (const ManualPage& page : manual_pages())
    EXPECT_TRUE(std::ranges::any_of(command_table().commands, [&](const Command* command) {
      return page_of(*command) == page.name;
    })) << page.name;
}

TEST(Commands, ExamplesParse) {
  for (const Command* command : command_table().commands)
    for (const Example& example : command->examples) {
      if (!example.line.starts_with("mistctl ")) continue;
      std::vector<std::string> args;
      const std::string_view line = example.line.substr(0, example.line.find(" |"));
      for (const std::string_view word : split(line, ' ')) args.emplace_back(word);
      args.erase(args.begin());
      const auto parsed = parse(args, command_table());
      EXPECT_TRUE(parsed.ok()) << example.line << ": " << (parsed.ok() ? "" : parsed.error().to_line());
    }
}

TEST(Help, FitsTheTerminal) {
  for (const Command* command : command_table().commands) {
    const std::string text = help_text({.command = command, .group = {}}, command_table(), 80, false);
    for (const std::string_view line : split(text, '\n'))
      if (!line.starts_with("  mistctl") && !line.starts_with("  #")) {
        EXPECT_LE(view::display_width(line), 80) << line;
      }
  }
}

// Help for a newcomer; the rest is behind --help-all.
TEST(Help, OfEveryCommandIsAScreen) {
  for (const Command* command : command_table().commands) {
    const std::string text = help_text({.command = command, .group = {}}, command_table(), 100, false);
    EXPECT_LE(std::ranges::count(text, '\n'), 50) << command->path << "\n" << text;
  }
  const Command* const install = find_command(command_table(), "install");
  const std::string usual = help_text({.command = install, .group = {}}, command_table(), 80, false);
  const std::string all =
      help_text({.command = install, .group = {}, .all_flags = true}, command_table(), 80, false);
  EXPECT_THAT(usual, HasSubstr("more flags: mistctl install --help-all"));
  EXPECT_THAT(usual, Not(HasSubstr("--limit-memory")));
  EXPECT_THAT(all, HasSubstr("--limit-memory"));
  EXPECT_THAT(all, Not(HasSubstr("more flags")));
}

TEST(Manual, RendersMarkdown) {
  const ManualPage page{
      "x",
      "# Title\n\nSome `code` and **bold**\ntext.\n\n* one\n* two\n  more\n\n    a  b\n\n    c\n\nEnd.\n"};
  EXPECT_EQ(render_page(page, 80, false),
            "Title\n\nSome code and bold text.\n  * one\n  * two more\n\n    a  b\n\n    c\n\nEnd.\n"
            "\nArguments and flags: mistctl x --help-all\n");
}

TEST(Manual, RendersTablesAsTables) {
  const ManualPage page{"x",
                        "Before\n\n| file | engine |\n|---|---|\n| `Chart.yaml` | **helm** |\n| x | "
                        "a long text that has to be wrapped somewhere behind here |\n\nAfter\n"};
  EXPECT_EQ(render_page(page, 60, false),
            "\nBefore\n\n"
            "    file         engine\n"
            "    Chart.yaml   helm\n"
            "    x            a long text that has to be wrapped\n"
            "                 somewhere behind here\n"
            "\nAfter\n\nArguments and flags: mistctl x --help-all\n");
  const std::string roff = roff_page(page, {}, "1");
  EXPECT_THAT(roff, HasSubstr(".TP\n\\fBChart.yaml\\fR\n\\fBhelm\\fR\n"));
  EXPECT_THAT(roff, Not(HasSubstr("| ")));
}

TEST(Manual, WritesRoffThatManUnderstands) {
  const ManualPage page{"x", "# T\n\n.dot `--flag`\n\n    .code \\n\n"};
  const std::string roff = roff_page(page, {}, "1.2.3");
  EXPECT_NE(roff.find(".TH MISTCTL\\-X 1 \"\" \"mistctl 1.2.3\" \"Mistletoe\"\n"), std::string::npos);
  EXPECT_NE(roff.find("\n\\&.dot \\fB\\-\\-flag\\fR\n"), std::string::npos);
  EXPECT_NE(roff.find("\n\\&.code \\en\n"), std::string::npos);
}

struct Run : ::testing::Test {
  ExitCode run(const std::vector<std::string>& args) { return fake.run(args, command_table()); }
  testing::FakeMachine fake;
};

TEST_F(Run, VersionNeedsNothing) {
  EXPECT_EQ(run({"version"}), ExitCode::Ok);
  EXPECT_EQ(fake.out.take(), "mistctl 0.0.0-test (commit none, test/none, none)\n");
  EXPECT_EQ(run({"--version"}), ExitCode::Ok);
  EXPECT_EQ(fake.err.take(), "");
}

TEST_F(Run, ErrorsGoToStderrInTheFormThatWasAsked) {
  EXPECT_EQ(run({"version", "--bad"}), ExitCode::Usage);
  EXPECT_EQ(fake.err.take(),
            "error: mistctl version has no flag --bad\n  try: mistctl version --help lists them\n");
  EXPECT_EQ(run({"version", "--bad", "-o", "json"}), ExitCode::Usage);
  EXPECT_TRUE(fake.err.take().starts_with("{\"kind\":\"Error\",\"exitCode\":2,"));
  EXPECT_EQ(fake.out.take(), "");
}

TEST_F(Run, AFullDiskIsAnError) {
  fake.out.failure = error(ErrorKind::Retryable, "cannot write to standard output");
  EXPECT_EQ(run({"version"}), ExitCode::Failed);
  EXPECT_EQ(fake.err.take(), "error: cannot write to standard output\n");
}

TEST_F(Run, ColorsFollowTheTerminalAndTheUser) {
  const auto colored = [&](const std::vector<std::string>& args) {
    run(args);
    return fake.out.take().find('\x1b') != std::string::npos;
  };
  EXPECT_FALSE(colored({"help"}));
  EXPECT_TRUE(colored({"help", "--color=always"}));
  fake.out.terminal = true;
  EXPECT_TRUE(colored({"help"}));
  EXPECT_FALSE(colored({"help", "--color=never"}));
  fake.environment["NO_COLOR"] = "1";
  EXPECT_FALSE(colored({"help"}));
  fake.environment["NO_COLOR"] = "";
  EXPECT_TRUE(colored({"help"}));
  fake.environment["TERM"] = "dumb";
  EXPECT_FALSE(colored({"help"}));
}

TEST_F(Run, HelpTakesAnyWord) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"help", "status", "--", "--"}, {"help", "--", "--"}, {"kpm", "help", "--", "--"}})
    EXPECT_EQ(run(words), ExitCode::Ok) << fake.err.take();
}

TEST_F(Run, ManualPagesAreWrittenForAllCommands) {
  EXPECT_EQ(run({"__manual-pages", (fake.home.path() / "man1").string()}), ExitCode::Ok);
  EXPECT_EQ(fake.files.list(fake.home.path() / "man1")->size(), manual_pages().size());
}

}  // namespace
}  // namespace mist::cli
