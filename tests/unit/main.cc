// The main of every program of unit tests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

int main(int count, char** arguments) {
  // As in the mains of ours: a program that ended reads nothing any more, which is an error of write(2).
  std::signal(SIGPIPE, SIG_IGN);
  ::testing::InitGoogleMock(&count, arguments);
  return RUN_ALL_TESTS();
}
