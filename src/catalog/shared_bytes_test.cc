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

TEST(SharedBytes, AreBoundedInAllButForSmallOnes) {
  SharedBytes shared(3 * SharedBytes::kSmall);
  const auto of_size = [](std::uint64_t size) {
    return [size]() -> Result<std::string> { return std::string(size, 'a'); };
  };
  auto first = shared.get("a", of_size(2 * SharedBytes::kSmall));
  ASSERT_TRUE(first.ok());
  const auto refused = shared.get("b", of_size(2 * SharedBytes::kSmall));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Retryable);
  const auto again = shared.get("a", of_size(2 * SharedBytes::kSmall));
  EXPECT_TRUE(again.ok()) << "they are held already";
  const auto small = shared.get("c", of_size(SharedBytes::kSmall));
  const auto other = shared.get("d", of_size(SharedBytes::kSmall));
  EXPECT_TRUE(small.ok() && other.ok());
  const auto exact = shared.get("e", of_size(1));
  EXPECT_TRUE(exact.ok());
  *first = nullptr;
  EXPECT_FALSE(shared.get("b", of_size(2 * SharedBytes::kSmall)).ok()) << "another has them";
}

TEST(SharedBytes, MakeRoomWhenNobodyHasThem) {
  SharedBytes shared(3 * SharedBytes::kSmall);
  const auto large = []() -> Result<std::string> { return std::string(2 * SharedBytes::kSmall, 'a'); };
  auto first = shared.get("a", large);
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(shared.get("b", large).ok());
  *first = nullptr;
  EXPECT_TRUE(shared.get("b", large).ok());
}

}  // namespace
}  // namespace mist::catalog
