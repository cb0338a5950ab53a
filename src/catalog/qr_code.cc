#include "catalog/qr_code.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

namespace mist::catalog {
namespace {

using Bytes = std::vector<std::uint8_t>;

// Of level M. The centres of alignment patterns are 6, `second`, and on in equal steps to the last, which is
// 7 from the end.
struct Shape {
  int check_bytes;  // of each block
  int blocks;
  int second;
};
constexpr std::array<Shape, 20> kShapes{
    {{10, 1, 0},   {16, 1, 18},  {26, 1, 22},  {18, 2, 26},  {24, 2, 30},  {16, 4, 34}, {18, 4, 22},
     {22, 4, 24},  {22, 5, 26},  {26, 5, 28},  {30, 5, 30},  {22, 8, 32},  {22, 9, 34}, {24, 9, 26},
     {24, 10, 26}, {28, 10, 26}, {28, 11, 30}, {26, 13, 30}, {26, 14, 30}, {26, 16, 34}}};
constexpr int kByteMode = 0b0100;
constexpr unsigned kLevelM = 0b00;
constexpr int kMasks = 8;
constexpr int kQuiet = 4;

const Shape& shape_of(int version) { return kShapes.at(static_cast<std::size_t>(version - 1)); }
int size_of(int version) { return 17 + 4 * version; }

std::vector<int> alignment_centres(int version) {
  if (version == 1) return {};
  const int last = size_of(version) - 7;
  const int second = shape_of(version).second;
  const int steps = version / 7;  // after the second
  std::vector<int> centres{6};
  for (int i = 0; i <= steps; ++i)
    centres.push_back(steps == 0 ? last : second + (last - second) / steps * i);
  return centres;
}

// The remainder of `value` after division by `generator`, both polynomials over GF(2).
unsigned remainder(unsigned value, unsigned generator, int degree) {
  value <<= degree;
  for (int bit = 31; bit >= degree; --bit)
    if ((value >> bit & 1U) != 0) value ^= generator << (bit - degree);
  return value;
}

// Which modules hold data, and what the others are.
struct Canvas {
  explicit Canvas(int version)
      : code(size_of(version)), is_fixed(static_cast<std::size_t>(code.size() * code.size())) {}
  void fix(int x, int y, bool dark) {
    code.set(x, y, dark);
    is_fixed[place(x, y)] = true;
  }
  bool fixed(int x, int y) const { return is_fixed[place(x, y)]; }
  std::size_t place(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(code.size()) + static_cast<std::size_t>(x);
  }

  QrCode code;
  std::vector<bool> is_fixed;
};

// Rings around a centre: those at the distances in `light` are light, the others dark.
void draw_rings(Canvas& canvas, int x, int y, int radius, std::initializer_list<int> light) {
  for (int dy = -radius; dy <= radius; ++dy)
    for (int dx = -radius; dx <= radius; ++dx) {
      const int size = canvas.code.size();
      if (x + dx < 0 || y + dy < 0 || x + dx >= size || y + dy >= size) continue;
      const int distance = std::max(std::abs(dx), std::abs(dy));
      canvas.fix(x + dx, y + dy, std::ranges::find(light, distance) == light.end());
    }
}

void draw_format(Canvas& canvas, int mask) {
  const unsigned data = kLevelM << 3 | static_cast<unsigned>(mask);
  const unsigned bits = (data << 10 | remainder(data, 0x537, 10)) ^ 0x5412;
  const int size = canvas.code.size();
  for (int i = 0; i < 15; ++i) {
    const bool dark = (bits >> i & 1U) != 0;
    // Around the first finder the timing patterns are passed over.
    if (i < 8)
      canvas.fix(8, i < 6 ? i : i + 1, dark);
    else
      canvas.fix(i == 8 ? 7 : 14 - i, 8, dark);
    if (i < 8)
      canvas.fix(size - 1 - i, 8, dark);
    else
      canvas.fix(8, size - 15 + i, dark);
  }
  canvas.fix(8, size - 8, true);
}

void draw_version(Canvas& canvas, int version) {
  if (version < 7) return;
  const auto data = static_cast<unsigned>(version);
  const unsigned bits = data << 12 | remainder(data, 0x1f25, 12);
  for (int i = 0; i < 18; ++i) {
    const bool dark = (bits >> i & 1U) != 0;
    const int across = canvas.code.size() - 11 + i % 3;
    canvas.fix(across, i / 3, dark);
    canvas.fix(i / 3, across, dark);
  }
}

Canvas empty_canvas(int version) {
  Canvas canvas(version);
  const int size = canvas.code.size();
  for (int i = 0; i < size; ++i) {
    canvas.fix(6, i, i % 2 == 0);
    canvas.fix(i, 6, i % 2 == 0);
  }
  const std::vector<int> centres = alignment_centres(version);
  for (const int y : centres)
    for (const int x : centres) {
      const bool at_finder = (x == 6 && y == 6) || (x == 6 && y == size - 7) || (x == size - 7 && y == 6);
      if (!at_finder) draw_rings(canvas, x, y, 2, {1});
    }
  for (const auto& [x, y] : {std::pair(3, 3), std::pair(size - 4, 3), std::pair(3, size - 4)})
    draw_rings(canvas, x, y, 4, {2, 4});
  draw_format(canvas, 0);
  draw_version(canvas, version);
  return canvas;
}

int code_bytes(const Canvas& canvas) {
  return static_cast<int>(std::ranges::count(canvas.is_fixed, false) / 8);
}

// GF(256) with x^8 + x^4 + x^3 + x^2 + 1.
std::uint8_t product(std::uint8_t a, std::uint8_t b) {
  unsigned result = 0;
  for (int bit = 7; bit >= 0; --bit) {
    result = result << 1 ^ ((result >> 7) * 0x11dU);
    if ((b >> bit & 1) != 0) result ^= a;
  }
  return static_cast<std::uint8_t>(result);
}

// Reed-Solomon: what makes `data` divisible by the product of (x - 2^i).
Bytes check_bytes(const Bytes& data, int count) {
  Bytes generator{1};  // the highest power first
  std::uint8_t root = 1;
  for (int i = 0; i < count; ++i) {
    Bytes next(generator.size() + 1);
    for (std::size_t j = 0; j < generator.size(); ++j) {
      next[j] ^= generator[j];
      next[j + 1] ^= product(generator[j], root);
    }
    generator = std::move(next);
    root = product(root, 2);
  }
  Bytes rest = data;
  rest.resize(data.size() + static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < data.size(); ++i) {
    const std::uint8_t factor = rest[i];
    for (std::size_t j = 0; j < generator.size(); ++j) rest[i + j] ^= product(generator[j], factor);
  }
  return {rest.begin() + static_cast<std::ptrdiff_t>(data.size()), rest.end()};
}

int length_bits(int version) { return version < 10 ? 8 : 16; }

// Mode, length, text and padding; `count` bytes.
Bytes data_bytes(std::string_view text, int version, std::size_t count) {
  std::vector<bool> bits;
  const auto add = [&](unsigned value, int width) {
    for (int bit = width - 1; bit >= 0; --bit) bits.push_back((value >> bit & 1U) != 0);
  };
  add(kByteMode, 4);
  add(static_cast<unsigned>(text.size()), length_bits(version));
  for (const char c : text) add(static_cast<std::uint8_t>(c), 8);
  bits.resize(std::min(bits.size() + 4, count * 8));
  bits.resize((bits.size() + 7) / 8 * 8);
  Bytes bytes(bits.size() / 8);
  for (std::size_t i = 0; i < bits.size(); ++i)
    bytes[i / 8] = static_cast<std::uint8_t>(bytes[i / 8] << 1 | (bits[i] ? 1 : 0));
  for (std::uint8_t padding = 0xec; bytes.size() < count; padding ^= 0xec ^ 0x11) bytes.push_back(padding);
  return bytes;
}

// Blocks with their check bytes, a byte of each in turn. The last blocks may be one byte longer.
Bytes interleaved(const Bytes& data, const Shape& shape) {
  std::vector<Bytes> blocks;
  std::vector<Bytes> checks;
  const std::size_t count = static_cast<std::size_t>(shape.blocks);
  auto from = data.begin();
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_longer = i >= count - data.size() % count;
    const auto to = from + static_cast<std::ptrdiff_t>(data.size() / count + (is_longer ? 1 : 0));
    blocks.emplace_back(from, to);
    checks.push_back(check_bytes(blocks.back(), shape.check_bytes));
    from = to;
  }
  Bytes out;
  for (std::size_t i = 0; i <= data.size() / count; ++i)
    for (const Bytes& block : blocks)
      if (i < block.size()) out.push_back(block[i]);
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape.check_bytes); ++i)
    for (const Bytes& check : checks) out.push_back(check[i]);
  return out;
}

// In columns of two from the right, up and down in turn, past the timing pattern.
void draw_data(Canvas& canvas, const Bytes& bytes) {
  const int size = canvas.code.size();
  std::size_t bit = 0;
  bool up = true;
  for (int right = size - 1; right > 0; right -= 2, up = !up) {
    if (right == 6) right = 5;
    for (int i = 0; i < size; ++i)
      for (const int x : {right, right - 1}) {
        const int y = up ? size - 1 - i : i;
        if (canvas.fixed(x, y)) continue;
        // The modules that are left over at the end are light.
        canvas.code.set(x, y, bit < bytes.size() * 8 && (bytes[bit / 8] >> (7 - bit % 8) & 1) != 0);
        ++bit;
      }
  }
}

bool flips(int mask, int x, int y) {
  switch (mask) {
    case 0:
      return (x + y) % 2 == 0;
    case 1:
      return y % 2 == 0;
    case 2:
      return x % 3 == 0;
    case 3:
      return (x + y) % 3 == 0;
    case 4:
      return (x / 3 + y / 2) % 2 == 0;
    case 5:
      return x * y % 2 + x * y % 3 == 0;
    case 6:
      return (x * y % 2 + x * y % 3) % 2 == 0;
    default:
      return ((x + y) % 2 + x * y % 3) % 2 == 0;
  }
}

QrCode masked(Canvas canvas, int mask) {
  draw_format(canvas, mask);
  for (int y = 0; y < canvas.code.size(); ++y)
    for (int x = 0; x < canvas.code.size(); ++x)
      if (!canvas.fixed(x, y) && flips(mask, x, y)) canvas.code.set(x, y, !canvas.code.dark(x, y));
  return std::move(canvas.code);
}

// Long runs, and what looks like a finder, in one row or column.
int line_penalty(const std::string& line) {
  int penalty = 0;
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t end = std::min(line.find_first_not_of(line[begin], begin), line.size());
    if (end - begin >= 5) penalty += static_cast<int>(end - begin) - 2;
    begin = end;
  }
  for (const std::string_view finder : {"10111010000", "00001011101"})
    for (std::size_t at = line.find(finder); at != line.npos; at = line.find(finder, at + 1)) penalty += 40;
  return penalty;
}

// How hard it is to read, by the four rules of the standard.
int penalty_of(const QrCode& code) {
  const int size = code.size();
  int penalty = 0;
  int dark = 0;
  for (int i = 0; i < size; ++i) {
    std::string row;
    std::string column;
    for (int j = 0; j < size; ++j) {
      row += code.dark(j, i) ? '1' : '0';
      column += code.dark(i, j) ? '1' : '0';
    }
    penalty += line_penalty(row) + line_penalty(column);
    dark += static_cast<int>(std::ranges::count(row, '1'));
  }
  for (int y = 0; y + 1 < size; ++y)
    for (int x = 0; x + 1 < size; ++x) {
      const bool first = code.dark(x, y);
      if (first == code.dark(x + 1, y) && first == code.dark(x, y + 1) && first == code.dark(x + 1, y + 1))
        penalty += 3;
    }
  return penalty + std::abs(dark * 100 / (size * size) - 50) / 5 * 10;
}

}  // namespace

std::optional<QrCode> qr_code(std::string_view text) {
  for (int version = 1; version <= static_cast<int>(kShapes.size()); ++version) {
    const Shape& shape = shape_of(version);
    Canvas canvas = empty_canvas(version);
    const int room = code_bytes(canvas) - shape.blocks * shape.check_bytes;
    if (text.size() > static_cast<std::size_t>((8 * room - 4 - length_bits(version)) / 8)) continue;
    draw_data(canvas, interleaved(data_bytes(text, version, static_cast<std::size_t>(room)), shape));
    std::optional<QrCode> best;
    int least = std::numeric_limits<int>::max();
    for (int mask = 0; mask < kMasks; ++mask) {
      QrCode made = masked(canvas, mask);
      const int penalty = penalty_of(made);
      if (penalty >= least) continue;
      least = penalty;
      best = std::move(made);
    }
    return best;
  }
  return std::nullopt;
}

Markup picture(const QrCode& code, std::string_view label) {
  std::string path;
  for (int y = 0; y < code.size(); ++y)
    for (int x = 0; x < code.size();) {
      int end = x;
      while (end < code.size() && code.dark(end, y)) ++end;
      if (end > x) path += fmt::format("M{} {}h{}v1h-{}z", x + kQuiet, y + kQuiet, end - x, end - x);
      x = end + 1;
    }
  const int width = code.size() + 2 * kQuiet;
  return markup(
      "<svg class=\"code\" role=\"img\" aria-label=\"{0}\" viewBox=\"0 0 {1} {1}\" "
      "shape-rendering=\"crispEdges\"><path fill=\"#fff\" d=\"M0 0h{1}v{1}h-{1}z\"/><path fill=\"#000\" "
      "d=\"{2}\"/></svg>\n",
      label, width, path);
}

}  // namespace mist::catalog
