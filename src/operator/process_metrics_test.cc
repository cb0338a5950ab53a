#include "operator/process_metrics.h"

#include <gtest/gtest.h>

#include <chrono>

namespace mist::operator_ {
namespace {

TEST(ProcessMetrics, IsThatOfThisProcess) {
  const ProcessMetrics before = process_metrics();
  EXPECT_GT(before.resident_bytes, std::uint64_t{1} << 20);
  const auto now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  // A test runs for less than a day; /proc rounds the start of the machine to seconds.
  EXPECT_LT(before.start_seconds, now + 2);
  EXPECT_GT(before.start_seconds, now - 86400);
  double spent = before.cpu_seconds;
  while (spent < before.cpu_seconds + 0.01) spent = process_metrics().cpu_seconds;
  EXPECT_EQ(process_metrics().start_seconds, before.start_seconds);
}

}  // namespace
}  // namespace mist::operator_
