#include "base/once_map.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "base/parallel.h"

namespace mist {
namespace {

TEST(OnceMap, MakesEachValueOnceForManyThreads) {
  OnceMap<std::string, std::string> map;
  std::atomic<int> made = 0;
  const Status done = parallel_for(64, 8, [&](std::size_t i) -> Status {
    const std::string key = std::to_string(i % 4);
    MIST_TRY(const std::string* const value, map.get(key, [&]() -> Result<std::string> {
      ++made;
      return "value " + key;
    }));
    return *value == "value " + key ? Status() : error(ErrorKind::Internal, "{} has {}", key, *value);
  });
  EXPECT_TRUE(done.ok()) << done.error().to_line();
  EXPECT_EQ(made, 4);
}

TEST(OnceMap, KeepsErrors) {
  OnceMap<int, int> map;
  int tries = 0;
  const auto fail = [&]() -> Result<int> {
    ++tries;
    return error(ErrorKind::NotFound, "there is no {}", 7);
  };
  for (int i = 0; i < 2; ++i) {
    const Result<const int*> value = map.get(7, fail);
    ASSERT_FALSE(value.ok());
    EXPECT_EQ(value.error().kind, ErrorKind::NotFound);
  }
  EXPECT_EQ(tries, 1);
}

}  // namespace
}  // namespace mist
