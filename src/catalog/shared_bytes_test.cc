#include "catalog/shared_bytes.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

namespace mist::catalog {
namespace {

const SharedBytes::Size kFew = [] { return Result<std::uint64_t>(5); };

Result<std::shared_ptr<const std::string>> get(SharedBytes& shared, const std::string& name,
                                               std::uint64_t size) {
  return shared.get(
      name, [=] { return Result<std::uint64_t>(size); },
      [=] { return Result<std::string>(std::string(size, 'a')); });
}

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
      threads[i] = std::jthread([&, i] { got[i] = *shared.get("a", kFew, load); });
  }
  EXPECT_EQ(loads, 1);
  for (const auto& each : got) EXPECT_EQ(each, got[0]);
  EXPECT_EQ(*got[0], "bytes");
  EXPECT_EQ(**shared.get("b", kFew, [] { return Result<std::string>(std::string("others")); }), "others");
}

TEST(SharedBytes, AreForgottenWhenNobodyHasThemAndAfterAnError) {
  SharedBytes shared;
  const auto failed =
      shared.get("a", kFew, []() -> Result<std::string> { return error(ErrorKind::NotFound, "no"); });
  EXPECT_EQ(failed.error().kind, ErrorKind::NotFound);
  int loads = 0;
  const auto load = [&]() -> Result<std::string> { return std::to_string(++loads); };
  EXPECT_EQ(**shared.get("a", kFew, load), "1");
  EXPECT_EQ(**shared.get("a", kFew, load), "2");
  const auto kept = shared.get("a", kFew, load);
  EXPECT_EQ(*shared.get("a", kFew, load), *kept);
  EXPECT_EQ(loads, 3);
}

TEST(SharedBytes, AreBoundedInAllButForSmallOnes) {
  SharedBytes shared(3 * SharedBytes::kSmall);
  auto first = get(shared, "a", 2 * SharedBytes::kSmall);
  ASSERT_TRUE(first.ok());
  const auto refused = get(shared, "b", 2 * SharedBytes::kSmall);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Retryable);
  const auto again = get(shared, "a", 2 * SharedBytes::kSmall);
  EXPECT_TRUE(again.ok()) << "they are held already";
  const auto small = get(shared, "c", SharedBytes::kSmall);
  const auto other = get(shared, "d", SharedBytes::kSmall);
  EXPECT_TRUE(small.ok() && other.ok());
  const auto exact = get(shared, "e", 1);
  EXPECT_TRUE(exact.ok());
  *first = nullptr;
  EXPECT_FALSE(get(shared, "b", 2 * SharedBytes::kSmall).ok()) << "another has them";
}

TEST(SharedBytes, MakeRoomWhenNobodyHasThem) {
  SharedBytes shared(3 * SharedBytes::kSmall);
  const std::uint64_t large = 2 * SharedBytes::kSmall;
  auto first = get(shared, "a", large);
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(get(shared, "b", large).ok());
  *first = nullptr;
  EXPECT_TRUE(get(shared, "b", large).ok());
}

TEST(SharedBytes, ThatAreRefusedAreNotRead) {
  SharedBytes shared(2 * SharedBytes::kSmall);
  const auto held = get(shared, "a", 2 * SharedBytes::kSmall);
  ASSERT_TRUE(held.ok());
  bool is_read = false;
  const auto refused = shared.get(
      "b", [] { return Result<std::uint64_t>(2 * SharedBytes::kSmall); },
      [&] {
        is_read = true;
        return Result<std::string>(std::string());
      });
  EXPECT_FALSE(refused.ok());
  EXPECT_FALSE(is_read);
}

TEST(SharedBytes, ThatCannotBeReadTakeNoRoom) {
  SharedBytes shared(3 * SharedBytes::kSmall);
  const std::uint64_t large = 2 * SharedBytes::kSmall;
  const auto failed = shared.get(
      "a", [=] { return Result<std::uint64_t>(large); },
      []() -> Result<std::string> { return error(ErrorKind::NotFound, "no"); });
  EXPECT_EQ(failed.error().kind, ErrorKind::NotFound);
  EXPECT_TRUE(get(shared, "b", large).ok());
}

}  // namespace
}  // namespace mist::catalog
