#include "base/text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>

namespace mist {
namespace {

TEST(Text, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(escape_controls("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(escape_controls("line\nnext\ttab"), "line\\nnext\ttab");
  EXPECT_EQ(escape_controls("line\nnext", true), "line\nnext");
  EXPECT_EQ(escape_controls("\xc2\x9b"), "\\u009b");  // C1 CSI
  EXPECT_EQ(escape_controls("a\xe2\x80\xae"
                            "b"),
            "a\\u202eb");  // right-to-left override
  EXPECT_EQ(escape_controls("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(escape_controls("grüße 日本 🎄"), "grüße 日本 🎄");
}

TEST(Text, KnowsUtf8) {
  EXPECT_TRUE(is_valid_utf8("grüße 🎄"));
  EXPECT_FALSE(is_valid_utf8("\xc0\x80"));          // overlong NUL
  EXPECT_FALSE(is_valid_utf8("\xed\xa0\x80"));      // surrogate
  EXPECT_FALSE(is_valid_utf8("\xf4\x90\x80\x80"));  // beyond U+10FFFF
  EXPECT_FALSE(is_valid_utf8("abc\xe2\x82"));       // cut
}

TEST(Text, SuggestsOnlyWhatIsNear) {
  constexpr std::array<std::string_view, 3> kVerbs{"install", "uninstall", "upgrade"};
  EXPECT_EQ(nearest("instal", kVerbs), "install");
  EXPECT_EQ(nearest("upgarde", kVerbs), "upgrade");
  EXPECT_EQ(nearest("frobnicate", kVerbs), "");
  constexpr std::string_view kFlags[] = {"name", "wait", "quiet"};
  EXPECT_EQ(nearest("wiat", kFlags), "wait") << "two swapped letters are one mistake";
}

TEST(Text, ChecksDnsNames) {
  EXPECT_TRUE(is_dns1123_label("my-namespace"));
  EXPECT_FALSE(is_dns1123_label("-a"));
  EXPECT_FALSE(is_dns1123_label("A"));
  EXPECT_FALSE(is_dns1123_label(std::string(64, 'a')));
  EXPECT_TRUE(is_dns1123_subdomain("widgets.example.com"));
  EXPECT_FALSE(is_dns1123_subdomain("a..b"));
}

TEST(Text, Base64RoundTrips) {
  EXPECT_TRUE(rc::check([](const std::string& bytes) {
    std::string back;
    RC_ASSERT(base64_decode(base64_encode(bytes), back));
    RC_ASSERT(back == bytes);
  }));
  std::string out;
  EXPECT_FALSE(base64_decode("abc", out));
  EXPECT_FALSE(base64_decode("a$==", out));
}

TEST(EscapeControlsInJson, LeavesJsonOfTheSameValue) {
  EXPECT_EQ(escape_controls_in_json("{\n  \"a\x7f\": \"b\u009bc\u202ed\U000e0041\"\n}"),
            "{\n  \"a\\u007f\": \"b\\u009bc\\u202ed\\udb40\\udc41\"\n}");
  EXPECT_EQ(escape_controls_in_json(R"(["é 漢 😀", "a\u202e\n"])"), R"(["é 漢 😀", "a\u202e\n"])");
}

TEST(EscapeControls, ShowsWhatHasNoWidthOrTurnsText) {
  EXPECT_EQ(escape_controls("a\u200bb\u202ec\u2066d\u00ade\ufefff"),
            "a\\u200bb\\u202ec\\u2066d\\u00ade\\ufefff");
  // Tags, in which people and programs hid whole sentences.
  EXPECT_EQ(escape_controls("a\U000e0041"), "a\\U000e0041");
  EXPECT_EQ(escape_controls("é 漢 😀 ❤️"), "é 漢 😀 ❤️");
}

TEST(Nearest, LooksAtNoMoreThanPeopleType) {
  const std::string long_word(10'000, 'a'), other(10'000, 'b');
  const std::vector<std::string_view> candidates(100'000, other);
  EXPECT_EQ(nearest(long_word, candidates), "");
  EXPECT_EQ(nearest("a", candidates), "");
}

TEST(Text, IsClippedBetweenCharacters) {
  EXPECT_EQ(clipped("abc", 3), "abc");
  EXPECT_EQ(clipped("abcdef", 5), "ab…");
  EXPECT_EQ(clipped("aéé", 5), "aéé");
  EXPECT_EQ(clipped("ééé", 5), "é…");
  EXPECT_EQ(clipped("éééé", 6), "é…") << "no half of a character";
}

}  // namespace
}  // namespace mist
