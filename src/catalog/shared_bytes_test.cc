#include "catalog/shared_bytes.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

namespace mist::catalog {
namespace {

TEST(SharedBytes, AreLoadedOnceForAllWhoWantThemAtOnce) {
  SharedBytes shared;
  std::atomic<int> loads = 0;
  const auto load = [&]() -> Result<std::string> {
    ++loads;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return std::string("bytes");
  };
  std::array<std::shared_ptr<const std::string>, 4> got;
  {
    std::array<std::jthread, got.size()> threads;
    for (std::size_t i = 0; i < got.size(); ++i)
      threads[i] = std::jthread([&, i] { got[i] = *shared.get("a", load); });
  }
  EXPECT_EQ(loads, 1);
  for (const auto& each : got) EXPECT_EQ(each, got[0]);
  EXPECT_EQ(*got[0], "bytes");
  EXPECT_EQ(**shared.get("b", [] { return Result<std::string>(std::string("others")); }), "others");
}

TEST(SharedBytes, AreForgottenWhenNobodyHasThemAndAfterAnError) {
  SharedBytes shared;
  const auto failed =
      shared.get("a", []() -> Result<std::string> { return error(ErrorKind::NotFound, "no"); });
  EXPECT_EQ(failed.error().kind, ErrorKind::NotFound);
  int loads = 0;
  const auto load = [&]() -> Result<std::string> { return std::to_string(++loads); };
  EXPECT_EQ(**shared.get("a", load), "1");
  EXPECT_EQ(**shared.get("a", load), "2");
  const auto kept = shared.get("a", load);
  EXPECT_EQ(*shared.get("a", load), *kept);
  EXPECT_EQ(loads, 3);
}

}  // namespace
}  // namespace mist::catalog
