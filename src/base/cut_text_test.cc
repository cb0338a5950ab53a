#include "base/cut_text.h"

#include <gtest/gtest.h>

#include "base/base64_inside.h"
#include "base/text.h"

namespace mist {
namespace {

TEST(CutText, CutsNoCharacter) {
  EXPECT_EQ(cut_text("short", 5), "short");
  EXPECT_EQ(cut_text("longer", 5), "longe…");
  EXPECT_EQ(cut_text("ab€", 5), "ab€");
  EXPECT_EQ(cut_text("ab€c", 5), "ab€…");
  EXPECT_EQ(cut_text("ab€c", 4), "ab…");
}

TEST(Base64Inside, StandsInTheBase64OfWhateverSurroundsIt) {
  for (const std::size_t before : {0U, 1U, 2U, 3U, 7U})
    for (const char* after : {"", "x", "yz", "…"}) {
      const std::string whole = base64_encode(std::string(before, '?') + "hunter2" + after);
      const std::string inside = base64_inside("hunter2", before % 3);
      EXPECT_GE(inside.size(), 7U);
      EXPECT_NE(whole.find(inside), std::string::npos) << whole << " " << inside;
    }
  EXPECT_EQ(base64_inside("", 1), "");
}

}  // namespace
}  // namespace mist
