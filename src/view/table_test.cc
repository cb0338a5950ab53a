#include "view/table.h"

#include <gtest/gtest.h>

#include "view/display_width.h"

namespace mist::view {
namespace {

TEST(DisplayWidth, CountsColumns) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("äöü"), 3);
  EXPECT_EQ(display_width("a\u0301"), 1);
  EXPECT_EQ(display_width("名前"), 4);
  EXPECT_EQ(display_width("🚀"), 2);
  EXPECT_EQ(display_width("…"), 1);
  EXPECT_EQ(display_width("\xff\xfe"), 2);
}

TEST(DisplayWidth, FitsAndPads) {
  EXPECT_EQ(fit_width("abcdef", 6), "abcdef");
  EXPECT_EQ(fit_width("abcdef", 5), "abcd…");
  EXPECT_EQ(fit_width("名前名前", 5), "名前…");
  EXPECT_EQ(fit_width("名前名前", 4), "名…");
  EXPECT_EQ(fit_width("abc", 1), "…");
  EXPECT_EQ(fit_width("abc", 0), "");
  EXPECT_EQ(pad_width("名", 4), "名  ");
}

TEST(Table, LooksLikeKubectl) {
  Table table({"NAME", "STATUS", "AGE"});
  table.add({{"shop"}, {"Deployed"}, {"5m"}});
  table.add({{"名前-long-name"}, {"OK"}, {""}});
  EXPECT_EQ(table.render(false),
            "NAME             STATUS     AGE\n"
            "shop             Deployed   5m\n"
            "名前-long-name   OK\n");
}

TEST(Table, AVeryLongCellMovesItsOwnRowOnly) {
  const std::string path(Table::kMostColumns + 1, 'x');
  Table table({"NAME", "AGE"});
  table.add({{"shop"}, {"5m"}});
  table.add({{path}, {"6m"}});
  EXPECT_EQ(table.render(false), "NAME   AGE\nshop   5m\n" + path + "   6m\n");
}

TEST(Table, EscapesWhatClustersSay) {
  Table table({"NAME"});
  table.add({{"a\x1b[2Jb\nc"}});
  EXPECT_EQ(table.render(false), "NAME\na\\x1b[2Jb\\nc\n");
}

TEST(Table, ColorDoesNotMoveColumns) {
  Table table({"A", "B"});
  table.add({{"x", Tone::Good}, {"y"}});
  EXPECT_EQ(table.render(true), "\x1b[1mA\x1b[0m   \x1b[1mB\x1b[0m\n\x1b[32mx\x1b[0m   y\n");
}

TEST(Ascii, PicturesKeepTheirWidth) {
  for (const std::string_view text : {"└─ ├─ │", "⠋ applying…", "✓ · ✗", "5 µs → end", "plain"}) {
    const std::string plain = in_ascii(text);
    EXPECT_EQ(display_width(plain), display_width(text)) << plain;
    for (const char c : plain) EXPECT_LT(static_cast<unsigned char>(c), 0x80) << plain;
  }
  EXPECT_EQ(in_ascii("└─ Pod │"), "`- Pod |");
  EXPECT_EQ(in_ascii("Grüße\n"), "Grüße\n") << "what isn't ours stays";
}

}  // namespace
}  // namespace mist::view
