#include "catalog/step_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/fake_clock.h"

namespace mist::catalog {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(StepLog, SaysWithinItsBoundThatTheRestIsLeftOut) {
  const mist::testing::FakeClock clock;
  StepLog log(clock);
  for (int i = 0; i < 300; ++i) log.line(std::string(1000, 'x'));
  log.line("y");
  const std::string text = log.take();
  EXPECT_LE(text.size(), StepLog::kMost);
  EXPECT_THAT(text, EndsWith("x\n… the rest is left out\n"));
  log.line("of the next step");
  EXPECT_THAT(log.take(), AllOf(HasSubstr("of the next step"), Not(HasSubstr("xx"))));
}

}  // namespace
}  // namespace mist::catalog
