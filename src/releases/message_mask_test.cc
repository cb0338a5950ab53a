#include "releases/message_mask.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "crypto/digest.h"
#include "crypto/text_digests.h"

namespace mist::releases {
namespace {

std::string upper(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

std::string masked(std::initializer_list<std::string_view> secrets, std::string text) {
  MessageMask mask;
  for (const std::string_view each : secrets) mask.add(each);
  mask.prepare();
  return mask.masked(std::move(text));
}

TEST(MessageMask, HidesOtherLetters) {
  for (const char* text : {"hunter2x", "HUNTER2X", "Hunter2x", "hUNTER2X"})
    EXPECT_EQ(masked({"hunter2x"}, fmt::format("leak_{}_z", text)), "leak_***_z") << text;
  EXPECT_EQ(masked({"a1b2"}, "is A1B2 or A1b2, not a1b"), "is *** or ***, not a1b");
  EXPECT_EQ(masked({"s3cret!"}, "\"S3CRET!\""), "\"***\"");
}

TEST(MessageMask, HidesPieces) {
  constexpr std::string_view kSecret = "correct-horse-battery";
  EXPECT_EQ(masked({kSecret}, "got correct-h, horse-bat and battery"), "got ***, *** and battery");
  EXPECT_EQ(masked({kSecret}, "CORRECT_HORSE_BATTERY, correctHorseBattery"), "***, ***");
  EXPECT_EQ(masked({kSecret}, "correct\n  horse\n  battery."), "***.");
  EXPECT_EQ(masked({" padded-secret\n"}, "'padded-secret'"), "'***'");
  EXPECT_EQ(masked({" ab1!\n"}, "'AB1!'"), "'***'");
  EXPECT_EQ(masked({kSecret}, "a correct word"), "a correct word");
}

TEST(MessageMask, HidesEncodings) {
  constexpr std::string_view kSecret = "p@ss/w\"rd&1<é>";
  for (const std::string& text :
       {base64_encode(kSecret), base64_encode(base64_encode(kSecret)), hex(crypto::as_bytes(kSecret)),
        std::string("p%40ss%2Fw%22rd%261%3C%C3%A9%3E"), std::string("p@ss/w\\\"rd&1<é>"),
        std::string("p@ss/w\\\"rd\\u00261\\u003cé\\u003e"), std::string("p@ss/w&#34;rd&amp;1&lt;é&gt;"),
        base64_encode("P@SS/W\"RD&1<é>")}) {
    const std::string shown = masked({kSecret}, "x: " + text + " y");
    EXPECT_EQ(shown.substr(0, 6), "x: ***") << shown;
    EXPECT_LE(shown.size(), std::string("x: *** y").size() + 3) << text << " became " << shown;
  }
  EXPECT_EQ(masked({"hunter2x"}, "NB2W45DFOIZHQ==="), "***===");
  for (const char* each : {"1", "22", "333"}) {
    const std::string user = base64_encode(fmt::format("{}:hunter2hunter2:rest", each));
    EXPECT_NE(masked({"hunter2hunter2"}, user).find("***"), std::string::npos) << user;
    EXPECT_LT(masked({"hunter2hunter2"}, user).size(), user.size() - 10) << user;
  }
  for (const std::string& digest : crypto::text_digests("hunter2x")) {
    EXPECT_EQ(masked({"hunter2x"}, digest), "***");
    EXPECT_EQ(masked({"hunter2x"}, "web-" + digest.substr(0, 8)), "web-***");
  }
}

TEST(MessageMask, HidesWholeCharacters) {
  // © ends in the byte in which é ends.
  const std::string shown = masked({"\xC3\xA9t\xC3\xA9t\xC3\xA9"}, "\xC2\xA9t\xC3\xA9t\xC3\xA9");
  EXPECT_EQ(shown, "\xC2\xA9t\xC3\xA9t\xC3\xA9") << "a piece has eight bytes";
  EXPECT_EQ(masked({"\xC3\xA9t\xC3\xA9t\xC3\xA9tt"}, "\xC2\xA9t\xC3\xA9t\xC3\xA9tt"), "***");
}

TEST(MessageMask, LeavesTheRest) {
  EXPECT_EQ(masked({}, "as it is"), "as it is");
  EXPECT_EQ(masked({"on", "1", ""}, "turn on 1"), "turn on 1");
  EXPECT_EQ(masked({"hunter2x"}, "0 of 1 replicas are available"), "0 of 1 replicas are available");
}

TEST(MessageMask, HidesLongValuesAsTheyAre) {
  std::string longest;
  for (int i = 0; longest.size() < MessageMask::kLongestWithForms * 2; ++i)
    longest += fmt::format("{:x}z", i * 7919);
  EXPECT_EQ(masked({longest}, "a " + longest.substr(100, 50) + " b").size(), std::string("a *** b").size());
  EXPECT_EQ(masked({longest}, upper(longest.substr(0, 50))), "***");
}

TEST(MessageMask, ReachesEveryTextOfAnError) {
  MessageMask mask;
  mask.add("hunter2x");
  mask.prepare();
  const Error failure = mask.masked(error(ErrorKind::Invalid, "no HUNTER2X")
                                        .with_because("b HUNTER2X")
                                        .with_hint("h HUNTER2X")
                                        .with_frame("f HUNTER2X")
                                        .caused_by(error(ErrorKind::Internal, "c HUNTER2X")));
  EXPECT_EQ(failure.to_line().find("HUNTER2X"), std::string::npos) << failure.to_line();
  EXPECT_EQ(failure.hint, "h ***");
  EXPECT_EQ(failure.cause->message, "c ***");
}

}  // namespace
}  // namespace mist::releases
