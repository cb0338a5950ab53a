#include "base/readable.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <stop_token>
#include <thread>

#include "base/handle.h"

namespace mist {
namespace {

struct Readable : ::testing::Test {
  Readable() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    read = UniqueFd(ends[0]);
    write = UniqueFd(ends[1]);
  }
  UniqueFd read, write;
};

TEST_F(Readable, WhatIsThereAndTheEndCanBeRead) {
  ASSERT_EQ(::write(write.get(), "x", 1), 1);
  EXPECT_TRUE(wait_readable(read.get(), Context()).ok());
  char c = 0;
  ASSERT_EQ(::read(read.get(), &c, 1), 1);
  write = UniqueFd();
  EXPECT_TRUE(wait_readable(read.get(), Context()).ok());
}

TEST_F(Readable, AStopEndsTheWait) {
  std::stop_source stop;
  std::jthread stopping([&] { stop.request_stop(); });
  const Status waited = wait_readable(read.get(), Context(stop.get_token()));
  ASSERT_FALSE(waited.ok());
  EXPECT_EQ(waited.error().kind, ErrorKind::Cancelled);
}

}  // namespace
}  // namespace mist
