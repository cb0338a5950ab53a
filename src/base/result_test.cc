#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/parallel.h"
#include "base/secret.h"

namespace mist {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return error(ErrorKind::Invalid, "{} is odd", n);
  return n / 2;
}

Result<int> quarter(int n) {
  MIST_TRY(const int h, half(n));
  return half(h).in("while halving again");
}

TEST(Result, TryPassesValuesAndErrors) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(3).error().message, "3 is odd");
  EXPECT_EQ(quarter(6).error().to_line(), "3 is odd; while halving again");
}

TEST(Result, HoldsMoveOnlyValues) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(4);
  EXPECT_EQ(**result, 4);
}

TEST(SecretString, FormatsAsStars) { EXPECT_EQ(fmt::format("{}", SecretString("hunter2")), "***"); }

TEST(ParallelFor, ReturnsTheFirstErrorByIndexAndRunsEverythingOtherwise) {
  std::vector<int> seen(100);
  EXPECT_TRUE(parallel_for(seen.size(), 8, [&](std::size_t i) { return seen[i] = 1, Status{}; }).ok());
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), 100);
  const Status failed = parallel_for(10, 1, [](std::size_t i) -> Status {
    if (i >= 3) return error(ErrorKind::Internal, "{}", i);
    return {};
  });
  EXPECT_EQ(failed.error().message, "3");
}

}  // namespace
}  // namespace mist
