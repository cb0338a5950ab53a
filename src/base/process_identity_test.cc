#include "base/process_identity.h"

#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace mist {
namespace {

TEST(ProcessIdentity, TellsWhoLivesWhoIsDeadAndWhoIsElsewhere) {
  const std::string own = own_process();
  ASSERT_FALSE(own.empty());
  EXPECT_EQ(life_of_process(own), ProcessLife::Alive);
  // Another process has that number by now.
  EXPECT_EQ(life_of_process(own + "1"), ProcessLife::Dead);
  const auto parts = split(own, '/');
  EXPECT_EQ(life_of_process(fmt::format("{}/{}/999999999/5", parts[0], parts[1])), ProcessLife::Dead);
  // Numbers of another start of the machine, or of another container, say nothing.
  EXPECT_EQ(life_of_process(fmt::format("x/{}/{}/{}", parts[1], parts[2], parts[3])), ProcessLife::Unknown);
  EXPECT_EQ(life_of_process(fmt::format("{}/pid:[1]/{}/{}", parts[0], parts[2], parts[3])),
            ProcessLife::Unknown);
  for (const std::string_view none : {"", "///", "a/b/c", "../../etc/passwd"})
    EXPECT_EQ(life_of_process(none), ProcessLife::Unknown) << none;
}

TEST(ProcessIdentity, AProcessThatEndedAndIsNotReapedIsDead) {
  int pipes[2];
  ASSERT_EQ(::pipe(pipes), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string own = own_process();
    [[maybe_unused]] const auto written = ::write(pipes[1], own.data(), own.size());
    ::_exit(0);
  }
  char text[256] = {};
  const auto length = ::read(pipes[0], text, sizeof text - 1);
  ASSERT_GT(length, 0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(life_of_process(text), ProcessLife::Dead);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(life_of_process(text), ProcessLife::Dead);
  ::close(pipes[0]);
  ::close(pipes[1]);
}

}  // namespace
}  // namespace mist
