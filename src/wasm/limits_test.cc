#include "wasm/limits.h"

#include <gtest/gtest.h>

namespace mist::wasm {
namespace {

constexpr std::string_view kNothing = "make it need less: no flag of this program raises this limit";

TEST(LimitHint, NamesOnlyFlagsThatTheProgramHas) {
  EXPECT_EQ(raise_hint(LimitFlags::All, "--limit-table", "5"),
            "if that is what it needs, raise --limit-table, now 5");
  EXPECT_EQ(raise_hint(LimitFlags::All, "--limit-time"), "allow more with --limit-time");
  EXPECT_EQ(raise_hint(LimitFlags::MemoryAndTime, "--limit-memory", "512 MiB"),
            "if that is what it needs, raise --limit-memory, now 512 MiB");
  EXPECT_EQ(raise_hint(LimitFlags::MemoryAndTime, "--limit-time"), "allow more with --limit-time");
  EXPECT_EQ(raise_hint(LimitFlags::MemoryAndTime, "--limit-table", "5"), kNothing);
  EXPECT_EQ(raise_hint(LimitFlags::None, "--limit-memory", "5 MiB"), kNothing);
}

}  // namespace
}  // namespace mist::wasm
