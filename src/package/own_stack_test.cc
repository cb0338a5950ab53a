#include "package/own_stack.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <stdexcept>

namespace mist::package {
namespace {

TEST(OwnStack, HasRoomForAGuestAndItsHost) {
  std::size_t bytes = 0;
  ASSERT_TRUE(on_own_stack(std::size_t{4} << 20, [&] {
                pthread_attr_t attributes;
                ASSERT_EQ(::pthread_getattr_np(::pthread_self(), &attributes), 0);
                ::pthread_attr_getstacksize(&attributes, &bytes);
                ::pthread_attr_destroy(&attributes);
              }).ok());
  EXPECT_GE(bytes, std::size_t{6} << 20);
}

TEST(OwnStack, AnExceptionIsTheCallers) {
  EXPECT_THROW((void)on_own_stack(std::size_t{1} << 20, [] { throw std::runtime_error("no"); }),
               std::runtime_error);
}

TEST(OwnStack, TimeIsThatOfTheThread) {
  const Duration before = thread_time();
  Duration inside{};
  ASSERT_TRUE(on_own_stack(std::size_t{1} << 20, [&] {
                const Duration began = thread_time();
                while (thread_time() - began < std::chrono::milliseconds(200)) {
                }
                inside = thread_time() - began;
              }).ok());
  EXPECT_GE(inside, std::chrono::milliseconds(200));
  EXPECT_LT(thread_time() - before, inside);
}

}  // namespace
}  // namespace mist::package
