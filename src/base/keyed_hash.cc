#include "base/keyed_hash.h"

#include <array>
#include <bit>
#include <cstring>
#include <span>

#include "base/random.h"

namespace mist {
namespace {

// https://www.aumasson.jp/siphash/siphash.pdf
struct SipState {
  std::array<std::uint64_t, 4> v;

  void round() {
    v[0] += v[1];
    v[2] += v[3];
    v[1] = std::rotl(v[1], 13) ^ v[0];
    v[3] = std::rotl(v[3], 16) ^ v[2];
    v[0] = std::rotl(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = std::rotl(v[1], 17) ^ v[2];
    v[3] = std::rotl(v[3], 21) ^ v[0];
    v[2] = std::rotl(v[2], 32);
  }
  void add(std::uint64_t word) {
    v[3] ^= word;
    round();
    v[0] ^= word;
  }
};

std::uint64_t word_at(const char* bytes) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// The bytes behind the last whole word, and in the topmost the length.
std::uint64_t last_word(std::string_view text) {
  const std::size_t rest = text.size() % 8;
  std::uint64_t word = std::uint64_t{text.size()} << 56;
  if (rest == 0) return word;
  // Reading a whole word is quicker than reading its bytes.
  if (text.size() > 8) return word | (word_at(text.data() + text.size() - 8) >> (64 - 8 * rest));
  for (std::size_t i = 0; i < rest; ++i)
    word |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
  return word;
}

KeyedHash::Key key_of_process() {
  static const KeyedHash::Key key = [] {
    KeyedHash::Key made;
    SystemRandom().fill(std::as_writable_bytes(std::span(&made, 1)));
    return made;
  }();
  return key;
}

}  // namespace

KeyedHash::KeyedHash() : key_(key_of_process()) {}

std::size_t KeyedHash::operator()(std::string_view text) const {
  SipState state{{key_.low ^ 0x736f6d6570736575, key_.high ^ 0x646f72616e646f6d,
                  key_.low ^ 0x6c7967656e657261, key_.high ^ 0x7465646279746573}};
  for (std::size_t i = 0; i + 8 <= text.size(); i += 8) state.add(word_at(text.data() + i));
  state.add(last_word(text));
  state.v[2] ^= 0xff;
  for (int i = 0; i < 3; ++i) state.round();
  return state.v[0] ^ state.v[1] ^ state.v[2] ^ state.v[3];
}

}  // namespace mist
