// Reads the sources: each command that a text of ours names has to be one that the parser knows, with flags
// that it has; and where a release is named, release/command_text.h has to have built it. The effect of such
// commands in another namespace and context is tested in tests/e2e/test_hints.py.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/parse/invocation.h"
#include "cli/parse/parse.h"
#include "release/command_text.h"
#include "testing/source_dir.h"

namespace mist::cli {
namespace {

struct Literal {
  std::string file;
  std::size_t line = 0;
  std::string text;
  std::string place() const { return fmt::format("{}:{}: \"{}\"", file, line, text); }
};

struct Source {
  std::string file;
  std::string text;
};

std::vector<Source> sources() {
  std::vector<Source> all;
  const std::filesystem::path root(testing::source_dir().string());
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "src")) {
    const std::string file = std::filesystem::relative(entry.path(), root).string();
    const bool code = file.ends_with(".cc") || file.ends_with(".h");
    if (!code || file.ends_with("_test.cc") || file.starts_with("src/testing/")) continue;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    all.push_back({file, text.str()});
  }
  return all;
}

// The string literals of a file, those beside one another as the one that the compiler makes of them.
std::vector<Literal> literals_of(const Source& source) {
  std::vector<Literal> found;
  const std::string& text = source.text;
  std::size_t line = 1;
  bool joins = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (c == ' ' || c == '\n') continue;
    if (text.compare(i, 2, "//") == 0) {
      i = std::min(text.find('\n', i), text.size()) - 1;
      continue;
    }
    if (c == '\'' && i + 2 < text.size() && (text[i + 1] == '\\' || text[i + 2] == '\'')) {
      i = text.find('\'', i + (text[i + 1] == '\\' ? 3 : 1));
      joins = false;
      continue;
    }
    if (c != '"') {
      joins = false;
      continue;
    }
    if (i > 0 && text[i - 1] == 'R') {
      const std::string end = ")" + text.substr(i + 1, text.find('(', i) - i - 1) + "\"";
      const auto stop = text.find(end, i);
      line += static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(i),
                                                  text.begin() + static_cast<std::ptrdiff_t>(stop), '\n'));
      i = stop + end.size() - 1;
      continue;
    }
    if (!joins) found.push_back({source.file, line, {}});
    for (++i; text[i] != '"'; ++i) {
      if (text[i] == '\\') ++i;
      found.back().text.push_back(text[i]);
    }
    joins = true;
  }
  return found;
}

// Words that follow "mistctl" in a sentence about the program itself.
constexpr std::string_view kProse[] = {"installs", "has",     "can't",   "needs", "asks",  "wants",   "does",
                                       "doesn't",  "knows",   "reads",   "wrote", "was",   "or",      "works",
                                       "is",       "can",     "COMMAND", "again", "means", "applies", "its",
                                       "prints",   "answers", "to",      "that",  "made",  "for",     "with"};

struct Named {
  const Command* command = nullptr;
  std::vector<std::string> rest;
};

// The command that stands after "mistctl ", up to what ends it in a sentence.
Named named_in(std::string_view text) {
  text = text.substr(0, text.find_first_of(",;:)|<\n"));
  std::vector<std::string> words;
  for (std::string_view word : split(text, ' '))
    if (!word.empty()) words.emplace_back(word);
  if (words.empty()) return {};
  const FoundCommand found = find_command_in(command_table(), words);
  return {found.command, {words.begin() + static_cast<std::ptrdiff_t>(found.words), words.end()}};
}

void expect_flags(const Command& command, const std::vector<std::string>& words, const std::string& place) {
  for (const std::string& word : words) {
    if (word.size() < 2 || word[0] != '-' || word == "--") continue;
    const std::string name = word.substr(0, word.find_first_of("={[)"));
    const bool known = word.starts_with("--")
                           ? find_flag(command, std::string_view(name).substr(2)) != nullptr
                           : find_flag(command, word[1]) != nullptr;
    EXPECT_TRUE(known || name == "--help" || name == "--version")
        << "mistctl " << command.path << " has no flag " << word << "\n"
        << place;
  }
}

bool names_release(const Command& command) {
  return !command.arguments.empty() && command.arguments[0].completion == Completion::Release;
}

TEST(HintScan, EveryCommandInATextIsOneThatThereIs) {
  std::size_t seen = 0;
  for (const Source& source : sources())
    for (const Literal& literal : literals_of(source)) {
      constexpr std::string_view kProgram = "mistctl ";
      for (auto at = literal.text.find(kProgram); at != std::string::npos;
           at = literal.text.find(kProgram, at + 1)) {
        const std::string_view rest = std::string_view(literal.text).substr(at + kProgram.size());
        const std::string_view word = rest.substr(0, rest.find_first_of(" ,;:"));
        const bool filled_in = rest.empty() || rest[0] == '{' || rest[0] == '-' || rest[0] == '(';
        if (filled_in || std::ranges::find(kProse, word) != std::end(kProse)) continue;
        const Named named = named_in(rest);
        if (named.command == nullptr) {
          ADD_FAILURE() << "no command of mistctl: " << word << "\n" << literal.place();
          continue;
        }
        ++seen;
        expect_flags(*named.command, named.rest, literal.place());
      }
    }
  EXPECT_GT(seen, 100u);
}

// "recover --undo does that" names neither the program nor the release. "diff --git" is git's.
TEST(HintScan, ACommandWithAFlagStandsBehindTheProgramsName) {
  const std::regex command(
      R"((?:^|[^-.\w])(status|history|install|upgrade|rollback|recover|uninstall|drift|diff|plan) --(?!git)[a-z])");
  std::size_t seen = 0;
  for (const Source& source : sources())
    for (const Literal& literal : literals_of(source)) {
      for (auto each = std::sregex_iterator(literal.text.begin(), literal.text.end(), command);
           each != std::sregex_iterator(); ++each) {
        ++seen;
        const std::string before = each->prefix().str();
        EXPECT_TRUE(before.ends_with("mistctl") && each->str().starts_with(' ')) << literal.place();
      }
    }
  EXPECT_GT(seen, 0u);
}

TEST(HintScan, CommandTextBuildsEveryHintThatNamesARelease) {
  // kpm has no other context than that of its caller, completion no release, and a page of the catalog no
  // cluster.
  for (const Source& source : sources())
    for (const Literal& literal : literals_of(source)) {
      const auto at = literal.text.find("mistctl ");
      if (at == std::string::npos || source.file == "src/release/command_text.h" ||
          source.file.starts_with("src/catalog/"))
        continue;
      const Named named = named_in(std::string_view(literal.text).substr(at + 8));
      if (named.command == nullptr) continue;
      const bool filled_in = !named.rest.empty() && named.rest[0].starts_with('{');
      const bool of_release = names_release(*named.command) || named.command->path == "install";
      EXPECT_FALSE(filled_in && of_release) << "use release::command_text\n" << literal.place();
      const bool example = source.file.starts_with("src/cli/commands/");
      EXPECT_FALSE(!example && named.command->path == "list" && source.file != "src/cli/parse/peers.cc")
          << "use release::list_text\n"
          << literal.place();
    }
}

// kubectl too would otherwise look at another cluster than the user named.
TEST(HintScan, KubectlTextBuildsEveryHintForKubectl) {
  // Below `release` the client knows it: Client::kubectl(). Hints of the operator are read elsewhere, and
  // examples name no cluster.
  constexpr std::string_view kElsewhere[] = {"src/release/command_text.h", "src/releases/", "src/reconcile/",
                                             "src/catalog/", "src/cli/"};
  const std::regex command(R"(\bkubectl (delete|explain|create|patch|get|edit|describe|apply) )");
  std::size_t seen = 0;
  for (const Source& source : sources())
    for (const Literal& literal : literals_of(source)) {
      if (!std::regex_search(literal.text, command)) continue;
      ++seen;
      EXPECT_TRUE(std::ranges::any_of(kElsewhere,
                                      [&](std::string_view each) { return source.file.starts_with(each); }))
          << "use release::kubectl_text or Client::kubectl\n"
          << literal.place();
    }
  EXPECT_GT(seen, 0u);
}

TEST(HintScan, WhatCommandTextIsGivenIsACommandWithThoseFlags) {
  const std::regex call(
      R"re(command_(text|hint)\(([a-z_]+, )?\s*"([a-z -]+)",\s*[^;"]*?(,\s*"(-[^"]*)")?\))re");
  std::size_t seen = 0, seen_of_kpm = 0;
  const auto is_of_kpm = [](std::string_view verb) {
    return std::ranges::find(release::kKpmVerbs, verb) != std::end(release::kKpmVerbs);
  };
  for (const Source& source : sources()) {
    for (auto each = std::sregex_iterator(source.text.begin(), source.text.end(), call);
         each != std::sregex_iterator(); ++each) {
      const Command* const command = find_command(command_table(), (*each)[3].str());
      ASSERT_NE(command, nullptr) << source.file << ": " << each->str();
      ++seen;
      EXPECT_TRUE(names_release(*command) || command->path == "install" || command->path == "plan")
          << source.file << ": " << each->str();
      std::vector<std::string> words;
      const std::string flags = (*each)[5].str();
      for (const std::string_view word : split(flags, ' ')) words.emplace_back(word);
      expect_flags(*command, words, source.file + ": " + each->str());
      if (!is_of_kpm((*each)[3].str())) continue;
      ++seen_of_kpm;
      const Command* const as_kpm = find_command(command_table(), "kpm " + (*each)[3].str());
      ASSERT_NE(as_kpm, nullptr) << each->str();
      EXPECT_TRUE(names_release(*as_kpm));
      expect_flags(*as_kpm, words, source.file + ": " + each->str());
    }
  }
  EXPECT_GT(seen, 30u);
  EXPECT_GT(seen_of_kpm, 10u);
}

TEST(HintScan, KpmsUsersAreToldOfKpmWhereItHasTheCommand) {
  const release::ReleaseId of_kpm("shop", "web", " --context prod", "kpm");
  EXPECT_EQ(release::command_text("status", of_kpm), "kpm status web -n shop --context prod");
  EXPECT_EQ(release::command_text("recover", of_kpm, "--undo"),
            "mistctl recover web -n shop --context prod --undo");
  EXPECT_EQ(release::list_text(of_kpm), "kpm list -A --context prod");
  EXPECT_EQ(release::command_text("status", {"shop", "web"}), "mistctl status web -n shop");
  const Command* const list = find_command(command_table(), "kpm list");
  ASSERT_NE(list, nullptr);
  EXPECT_NE(find_flag(*list, 'A'), nullptr);
}

}  // namespace
}  // namespace mist::cli
