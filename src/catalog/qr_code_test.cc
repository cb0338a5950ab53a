#include "catalog/qr_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "crypto/digest.h"

namespace mist::catalog {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string rows_of(const QrCode& code) {
  std::string rows;
  for (int y = 0; y < code.size(); ++y) {
    for (int x = 0; x < code.size(); ++x) rows += code.dark(x, y) ? '#' : '.';
    rows += '\n';
  }
  return rows;
}

// The bytes of one block in the order of the code, and what its polynomial is at 2^i: 0 if nothing is wrong.
int value_at(const std::vector<int>& block, int power) {
  int result = 0;
  for (const int byte : block) {
    for (int i = 0; i < power; ++i) result = result < 128 ? result * 2 : (result * 2) ^ 0x11d;
    result ^= byte;
  }
  return result;
}

// A reader as the standard describes it, written apart from what makes the codes: `blocks` of `check_bytes`,
// and where the alignment patterns are. Empty: it can't be read.
struct Reader {
  int version, blocks, check_bytes;
  std::vector<int> centres;

  bool is_data(const QrCode& code, int x, int y) const {
    const int size = code.size();
    const auto within = [&](int left, int top, int width, int height) {
      return x >= left && x < left + width && y >= top && y < top + height;
    };
    if (within(0, 0, 9, 9) || within(size - 8, 0, 8, 9) || within(0, size - 8, 9, 8) || x == 6 || y == 6)
      return false;
    if (version >= 7 && (within(size - 11, 0, 3, 6) || within(0, size - 11, 6, 3))) return false;
    for (const int a : centres)
      for (const int b : centres) {
        const bool at_finder = (a < 9 && b < 9) || (a < 9 && b > size - 9) || (a > size - 9 && b < 9);
        if (!at_finder && within(a - 2, b - 2, 5, 5)) return false;
      }
    return true;
  }

  std::string read(const QrCode& code) const {
    const int size = code.size();
    if (size != version * 4 + 17) return {};
    int format = 0;
    for (const auto& [x, y] : {std::pair(0, 8), {1, 8}, {2, 8}, {3, 8}, {4, 8}})
      format = format * 2 + (code.dark(x, y) ? 1 : 0);
    format ^= 0b10101;  // of the mask of the format
    if (format >> 3 != 0) return {};
    const int mask = format & 7;
    std::vector<int> bits;
    for (int pair = size - 2; pair >= 0; pair -= 2) {
      const int left = pair < 6 ? pair - 1 : pair;
      const bool up = (size - 2 - pair) / 2 % 2 == 0;
      if (left < 0) break;
      for (int i = 0; i < size; ++i)
        for (const int x : {left + 1, left}) {
          const int y = up ? size - 1 - i : i;
          if (!is_data(code, x, y)) continue;
          const int a = x * y;
          const std::array<bool, 8> flip{(x + y) % 2 == 0,
                                         y % 2 == 0,
                                         x % 3 == 0,
                                         (x + y) % 3 == 0,
                                         (y / 2 + x / 3) % 2 == 0,
                                         a % 2 + a % 3 == 0,
                                         (a % 2 + a % 3) % 2 == 0,
                                         ((x + y) % 2 + a % 3) % 2 == 0};
          bits.push_back(code.dark(x, y) != flip.at(static_cast<std::size_t>(mask)) ? 1 : 0);
        }
    }
    std::vector<int> bytes;
    for (std::size_t i = 0; i + 8 <= bits.size(); i += 8) {
      int byte = 0;
      for (std::size_t j = 0; j < 8; ++j) byte = byte * 2 + bits[i + j];
      bytes.push_back(byte);
    }
    const int data = static_cast<int>(bytes.size()) - blocks * check_bytes;
    std::vector<std::vector<int>> each(static_cast<std::size_t>(blocks));
    std::size_t next = 0;
    for (int i = 0; i <= data / blocks; ++i)
      for (int block = 0; block < blocks; ++block)
        if (i < data / blocks || block >= blocks - data % blocks)
          each[static_cast<std::size_t>(block)].push_back(bytes[next++]);
    std::vector<int> text;
    for (const auto& block : each) text.insert(text.end(), block.begin(), block.end());
    for (int i = 0; i < check_bytes; ++i)
      for (auto& block : each) block.push_back(bytes[next++]);
    for (const auto& block : each)
      for (int i = 0; i < check_bytes; ++i)
        if (value_at(block, i) != 0) return {};
    if (text[0] >> 4 != 4) return {};
    const auto half = [&](std::size_t i) { return i % 2 == 0 ? text[i / 2] >> 4 : text[i / 2] & 15; };
    std::size_t at = 1;
    std::size_t length = 0;
    for (int i = 0; i < (version < 10 ? 2 : 4); ++i)
      length = length * 16 + static_cast<std::size_t>(half(at++));
    std::string found;
    for (std::size_t i = 0; i < length; ++i, at += 2)
      found += static_cast<char>(half(at) * 16 + half(at + 1));
    return found;
  }
};

std::string text_of_length(std::size_t length) {
  std::string text;
  for (std::size_t i = 0; i < length; ++i) text += static_cast<char>(i * 7 + length);
  return text;
}

TEST(QrCode, IsReadAgain) {
  const std::vector<std::pair<Reader, std::size_t>> cases{
      {{1, 1, 10, {}}, 14},
      {{2, 1, 16, {6, 18}}, 26},
      {{5, 2, 24, {6, 30}}, 84},
      {{6, 4, 16, {6, 34}}, 106},
      {{7, 4, 18, {6, 22, 38}}, 122},
      {{8, 4, 22, {6, 24, 42}}, 152},
      {{9, 5, 22, {6, 26, 46}}, 180},
      {{10, 5, 26, {6, 28, 50}}, 213},
      {{13, 9, 22, {6, 34, 62}}, 331},
      {{14, 9, 24, {6, 26, 46, 66}}, 362},
      {{15, 10, 24, {6, 26, 48, 70}}, 412},
      {{18, 13, 26, {6, 30, 56, 82}}, 560},
      {{20, 16, 26, {6, 34, 62, 90}}, 666},
  };
  for (const auto& [reader, most] : cases) {
    const auto code = qr_code(text_of_length(most));
    ASSERT_TRUE(code);
    EXPECT_EQ(reader.read(*code), text_of_length(most)) << reader.version << ": as much as it takes";
    if (most == 666) continue;
    const auto larger = qr_code(text_of_length(most + 1));
    ASSERT_TRUE(larger);
    EXPECT_EQ(larger->size(), code->size() + 4) << "one byte more needs the next version";
  }
  EXPECT_EQ((Reader{1, 1, 10, {}}.read(*qr_code("a"))), "a") << "with padding";
  EXPECT_FALSE(qr_code(text_of_length(667)));
}

TEST(QrCode, IsWhatOtherProgramsMake) {
  // Of the Python package qrcode 8; zxing reads both.
  EXPECT_EQ("\n" + rows_of(*qr_code("hello")), R"(
#######..##...#######
#.....#.##....#.....#
#.###.#..#.##.#.###.#
#.###.#...##..#.###.#
#.###.#.##..#.#.###.#
#.....#.....#.#.....#
#######.#.#.#.#######
..........###........
#.#.#.#..#.#....#..#.
..#.##....#...#....##
.#.#..#.###.#...#####
##..#.........#....#.
.##.#.##..#.#.#.#....
........####.#.#..###
#######...##.###..###
#.....#...####.##....
#.###.#.#.##.###...##
#.###.#..#....##..##.
#.###.#.###.#...#.#.#
#.....#..#....#.#..#.
#######.###.#.##...##
)");
  const auto address =
      qr_code("otpauth://totp/c.example:ann?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=c.example");
  EXPECT_EQ(crypto::sha256(rows_of(*address)).hex(),
            "5266864dee69e6e32a560cc4c42bad22dcc3d5e9e57f04082b0d8157ae072c5d");
}

TEST(QrCode, IsAPictureWithANameInBothColourSchemes) {
  const std::string text = picture(*qr_code("a"), "A \"name\"").text();
  EXPECT_THAT(text, HasSubstr("aria-label=\"A &quot;name&quot;\" viewBox=\"0 0 29 29\""));
  EXPECT_THAT(text, HasSubstr("<path fill=\"#000\" d=\"M4 4h7v1h-7z"));
  EXPECT_THAT(text, Not(HasSubstr("http")));
}

}  // namespace
}  // namespace mist::catalog
