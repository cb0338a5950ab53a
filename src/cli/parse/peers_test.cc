#include "cli/parse/peers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/fs.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/parse/parse.h"
#include "testing/source_dir.h"

namespace mist::cli {
namespace {

std::vector<std::string> peer_args(std::string_view line) {
  std::vector<std::string> args;
  for (const std::string_view word : split(line, ' ')) args.emplace_back(word);
  return args;
}

Error peer_error(std::string_view line) {
  auto result = parse(peer_args(line), command_table());
  EXPECT_FALSE(result.ok()) << line;
  return result.ok() ? Error{} : result.error();
}

// Each part of a text behind "mistctl ", up to a comma, a semicolon or its end.
std::vector<std::string> commands_in(std::string_view text) {
  std::vector<std::string> found;
  constexpr std::string_view kProgram = "mistctl ";
  for (auto at = text.find(kProgram); at != std::string_view::npos; at = text.find(kProgram, at + 1)) {
    const std::string_view rest = text.substr(at + kProgram.size());
    found.emplace_back(rest.substr(0, rest.find_first_of(",;")));
  }
  return found;
}

void expect_parses(std::string_view line) {
  const auto parsed = parse(peer_args(line), command_table());
  EXPECT_TRUE(parsed.ok()) << line << ": " << (parsed.ok() ? "" : parsed.error().to_line());
}

const Command* command_of(std::string_view path) { return find_command(command_table(), path); }

TEST(Peers, EveryVerbIsAnsweredWithACommandThatIsHere) {
  for (const PeerVerb& verb : peer_verbs()) {
    EXPECT_TRUE(!verb.here.empty() || !verb.note.empty()) << verb.name;
    if (!verb.here.empty()) expect_parses(verb.here);
    for (const std::string_view argument : split(verb.arguments, ' '))
      EXPECT_NE(verb.here.find(argument), std::string_view::npos) << verb.name << " " << argument;
  }
}

TEST(Peers, AVerbThatIsNoneOfOursIsAnswered) {
  for (const PeerVerb& verb : peer_verbs()) {
    if (const Command* const ours = command_of(verb.name)) {  // the same, or it has other arguments
      EXPECT_EQ(command_of(verb.here.substr(0, verb.here.find(' '))), ours) << verb.name;
      continue;
    }
    if (verb.name.starts_with("diff ")) continue;  // also a release of that name
    EXPECT_EQ(
        peer_error(verb.name == "package" ? "package ./chart" : verb.name).hint.substr(0, 12),
        verb.here.empty() ? verb.note.substr(0, 12) : fmt::format("mistctl {}", verb.here).substr(0, 12))
        << verb.name;
  }
}

// Whether `here` of the table can stand for a flag of that command.
bool stands_for(std::string_view here, const Command& command) {
  if (here.starts_with("--")) return find_flag(command, here.substr(2, here.find(' ') - 2)) != nullptr;
  if (here.starts_with("-p")) return true;  // in words, for pull too, whose package is an argument
  if (here.starts_with("-")) return find_flag(command, here[1]) != nullptr;
  if (here == "VALUE") return command.arguments.size() >= 2;
  return here.empty() || parse(peer_args(here), command_table()).ok();
}

TEST(Peers, EveryFlagIsAnsweredWithAFlagOfThatCommand) {
  for (const PeerFlag& flag : peer_flags()) {
    EXPECT_TRUE(!flag.essential || !flag.note.empty()) << flag.name;
    const auto paths =
        flag.commands.empty() ? std::vector<std::string_view>{"list", "install"} : split(flag.commands, ',');
    for (const std::string_view path : paths) {
      const Command* const command = command_of(trim(path));
      ASSERT_NE(command, nullptr) << flag.name << " of " << path;
      EXPECT_TRUE(stands_for(flag.here, *command)) << flag.name << " of " << path;
    }
  }
}

TEST(Peers, EveryCommandInANoteIsHere) {
  const auto check = [](std::string_view note) {
    for (const std::string& line : commands_in(note)) {
      const auto words = peer_args(line);
      const bool two = words.size() > 1 && command_of(words[0] + " " + words[1]) != nullptr;
      EXPECT_TRUE(two || command_of(words[0]) != nullptr) << line;
    }
  };
  for (const PeerVerb& verb : peer_verbs()) check(verb.note);
  for (const PeerFlag& flag : peer_flags()) check(flag.note);
}

TEST(Peers, AnswerWithTheWholeCommand) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"delete web -n shop", "mistctl uninstall web -n shop"},
      {"get values web -n shop -o json", "mistctl inspect release web --only values -n shop -o json"},
      {"get values web --revision 3", "mistctl inspect release web --only values --revision 3"},
      {"template web ./chart -f a.yaml", "mistctl generate web -p ./chart -f a.yaml"},
      {"template ./chart", "mistctl generate NAME -p ./chart"},
      {"template web ./chart -s templates/a.yaml",
       "mistctl generate web -p ./chart --show-only templates/a.yaml"},
      {"install web ./chart --atomic", "mistctl install web -p ./chart --rollback-on-failure"},
      {"upgrade web -p ./c --atomic -n a --wait",
       "mistctl upgrade web --rollback-on-failure -p ./c -n a --wait"},
      {"upgrade web -p ./c --force", "mistctl upgrade web -p ./c --replace"},
      {"upgrade web --reset-values", "mistctl upgrade web -f /dev/null"},
      {"upgrade web --wait-for-jobs --wait", "mistctl upgrade web --wait"},
      {"--kube-context prod ls -A", "mistctl list --context prod -A"},
      {"status web --kube-context=prod", "mistctl status web --context prod"},
      {"rollback web --revision 3 -n shop", "mistctl rollback web 3 -n shop"},
      {"status web -A --context k", "mistctl list -A --context k"},
      {"history web --max 5", "mistctl history web"},
      {"lint ./chart --debug", "mistctl package lint ./chart --verbose"},
      {"install ./chart -n shop", "mistctl install NAME -p ./chart -n shop"},
      {"package ./chart", "mistctl package build ./chart"},
      {"create shop", "mistctl package init shop --template chart"},
      {"registry login h.example -u me", "mistctl login h.example -u me"},
      {"rollout undo web -n shop", "mistctl rollback web -n shop"},
      {"rollout undo deployment/web", "mistctl rollback NAME"},
      {"delete -f x.yaml -n shop", "mistctl uninstall NAME -n shop"},
      {"delete pod web -n shop", "mistctl uninstall NAME -n shop"},
      {"apply -f x.yaml -n shop", "mistctl install NAME -p ./DIRECTORY -n shop"},
      {"install web -p oci://h/c --version 1.2.3", "mistctl install web -p oci://h/c:1.2.3"},
      {"install web bitnami/mysql --version 1 -n shop", "mistctl install web -p bitnami/mysql:1 -n shop"},
      {"upgrade web -p a/b:1 --version 2", "-p PACKAGE:2 instead of --version"},
      {"upgrade web -p ./c --version 2", "-p PACKAGE:2 instead of --version"},
      {"inspect values ./chart", "mistctl inspect package ./chart --only values"},
      {"diff upgrade web ./chart -n shop", "mistctl diff web -p ./chart -n shop"},
      {"diff revision web 1 2", "mistctl diff web --from 1 --to 2"},
      {"diff web --revision 1", "mistctl diff web --from 1"},
      {"plan web -p ./c --install", "mistctl plan web -p ./c"},
      {"scale web --replicas 3 -n shop", "mistctl upgrade NAME --reuse-values --set KEY=VALUE -n shop"},
      {"wait web", "mistctl status NAME --watch --exit-code"},
  };
  for (const auto& [line, hint] : cases) {
    const std::string given = peer_error(line).hint;
    // The order of flags is nobody's concern.
    auto have = peer_args(given), want = peer_args(hint);
    std::ranges::sort(have);
    std::ranges::sort(want);
    EXPECT_EQ(have, want) << line << ": " << given;
    if (given.starts_with("mistctl ")) expect_parses(given.substr(8));
  }
}

TEST(Peers, SaysSoWhereNothingHereDoesThat) {
  EXPECT_EQ(peer_error("uninstall web --keep-history").hint,
            "the record goes with the release; mistctl inspect release NAME -o yaml prints it before");
  EXPECT_EQ(peer_error("plugin list").hint, "there are no plugins");
  EXPECT_EQ(peer_error("install -p ./c --generate-name").hint, "a release's name is its first argument");
}

TEST(Peers, MisspelledWordsOfOursAreStillOurs) {
  EXPECT_EQ(peer_error("upgrade web --resue-values").hint, "did you mean --reuse-values?");
  EXPECT_EQ(peer_error("package lnt ./chart").hint, "did you mean mistctl package lint?");
  EXPECT_EQ(peer_error("uninstal web").hint, "did you mean mistctl uninstall?");
}

TEST(Peers, NeverSuggestsTheOpposite) {
  EXPECT_EQ(peer_error("upgrade web --keep-crds").hint.find("--delete-crds"), std::string::npos);
  EXPECT_EQ(peer_error("upgrade web --hooks").hint.find("--no-hooks"), std::string::npos);
  EXPECT_EQ(peer_error("recover web --no-undo").hint.find("--undo?"), std::string::npos);
}

TEST(Peers, TheManualHasTheSameTables) {
  constexpr std::string_view kBegin = "<!-- peers: written by peers_test.cc -->\n";
  constexpr std::string_view kEnd = "<!-- end of peers -->\n";
  HostFileSystem files;
  const Path page = testing::source_dir() / "docs/charts.md";
  auto text = files.read(page);
  ASSERT_TRUE(text.ok());
  const auto begin = text->find(kBegin);
  const auto end = text->find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const auto from = begin + kBegin.size();
  if (std::getenv("MIST_ACCEPT") != nullptr) {
    text->replace(from, end - from, peer_tables());
    ASSERT_TRUE(files.write(page, *text).ok());
    return;
  }
  EXPECT_EQ(text->substr(from, end - from), peer_tables()) << "MIST_ACCEPT=1 writes it";
}

}  // namespace
}  // namespace mist::cli
