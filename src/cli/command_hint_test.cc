#include "cli/command_hint.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/parse/parse.h"

namespace mist::cli {
namespace {

TEST(CommandHint, QuotesWhatAShellWouldReadOtherwise) {
  EXPECT_EQ(shell_word("web.plan"), "web.plan");
  EXPECT_EQ(shell_word("gke_a:b/c@d"), "gke_a:b/c@d");
  EXPECT_EQ(shell_word("my plan"), "'my plan'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("$HOME"), "'$HOME'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(CommandHint, FindsTheSameReleaseOfTheSameCluster) {
  const auto hint = [](std::vector<std::string> args) {
    const auto parsed = parse(args, command_table());
    EXPECT_TRUE(parsed.ok());
    return command_hint(std::get<Invocation>(*parsed), "recover", {"shop", "web"}, "--undo");
  };
  EXPECT_EQ(hint({"history", "web"}), "mistctl recover web -n shop --undo");
  EXPECT_EQ(hint({"history", "web", "-n", "shop", "--context", "prod", "--kubeconfig", "my k"}),
            "mistctl recover web -n shop --context prod --kubeconfig 'my k' --undo");
}

}  // namespace
}  // namespace mist::cli
