#include "operator/process_use.h"

#include <gtest/gtest.h>

#include <chrono>

namespace mist::operator_ {
namespace {

TEST(ProcessUse, IsThatOfThisProcess) {
  const ProcessUse before = own_use();
  EXPECT_GT(before.resident_bytes, std::uint64_t{1} << 20);
  const auto now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  // A test runs for less than a day; /proc rounds the start of the machine to seconds.
  EXPECT_LT(before.start_seconds, now + 2);
  EXPECT_GT(before.start_seconds, now - 86400);
  double spent = before.cpu_seconds;
  while (spent < before.cpu_seconds + 0.01) spent = own_use().cpu_seconds;
  EXPECT_EQ(own_use().start_seconds, before.start_seconds);
}

}  // namespace
}  // namespace mist::operator_
