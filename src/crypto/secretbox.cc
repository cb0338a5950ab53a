#include "crypto/secretbox.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include <algorithm>
#include <bit>

#include "base/handle.h"
#include "crypto/digest.h"

namespace mist::crypto {
namespace {

using MacAlgorithm = Handle<EVP_MAC, &EVP_MAC_free>;
using MacContext = Handle<EVP_MAC_CTX, &EVP_MAC_CTX_free>;

constexpr std::size_t kBlock = 64;
constexpr std::size_t kMac = 16;
constexpr std::size_t kMacKey = 32;
constexpr std::uint64_t kMostMemory = std::uint64_t{2} << 30;

using State = std::array<std::uint32_t, 16>;
using Words8 = std::array<std::uint32_t, 8>;

std::uint32_t word(const std::byte* at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | std::to_integer<std::uint32_t>(at[i]);
  return value;
}

// The Salsa20 specification, sections 3 to 6: a quarter of a round, then ten times a round of columns and one
// of rows.
void quarter(State& x, std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
  x[b] ^= std::rotl(x[a] + x[d], 7);
  x[c] ^= std::rotl(x[b] + x[a], 9);
  x[d] ^= std::rotl(x[c] + x[b], 13);
  x[a] ^= std::rotl(x[d] + x[c], 18);
}
void twenty_rounds(State& x) {
  for (int i = 0; i < 10; ++i) {
    quarter(x, 0, 4, 8, 12);
    quarter(x, 5, 9, 13, 1);
    quarter(x, 10, 14, 2, 6);
    quarter(x, 15, 3, 7, 11);
    quarter(x, 0, 1, 2, 3);
    quarter(x, 5, 6, 7, 4);
    quarter(x, 10, 11, 8, 9);
    quarter(x, 15, 12, 13, 14);
  }
}

// "expand 32-byte k" on the diagonal; the key around it; what is counted in the middle.
State state_of(const Words8& key, const std::array<std::uint32_t, 4>& middle) {
  return {0x61707865, key[0],    key[1],     key[2], key[3], 0x3320646e, middle[0], middle[1],
          middle[2],  middle[3], 0x79622d32, key[4], key[5], key[6],     key[7],    0x6b206574};
}

// HSalsa20 ("Extending the Salsa20 nonce", section 2).
Words8 derived_key(const SecretboxKey& key, const SecretboxNonce& nonce) {
  Words8 words{};
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = word(key.data() + 4 * i);
  State x = state_of(
      words, {word(nonce.data()), word(nonce.data() + 4), word(nonce.data() + 8), word(nonce.data() + 12)});
  twenty_rounds(x);
  return {x[0], x[5], x[10], x[15], x[6], x[7], x[8], x[9]};
}

class Stream {
 public:
  Stream(const SecretboxKey& key, const SecretboxNonce& nonce)
      : key_(derived_key(key, nonce)), nonce_{word(nonce.data() + 16), word(nonce.data() + 20)} {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    OPENSSL_cleanse(key_.data(), sizeof key_);
    OPENSSL_cleanse(block_.data(), sizeof block_);
  }

  unsigned char next() {
    if (at_ == kBlock) refill();
    return block_[at_++];
  }

 private:
  void refill() {
    const State begin = state_of(key_, {nonce_[0], nonce_[1], static_cast<std::uint32_t>(counter_),
                                        static_cast<std::uint32_t>(counter_ >> 32)});
    State x = begin;
    twenty_rounds(x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::uint32_t sum = x[i] + begin[i];
      for (std::size_t byte = 0; byte < 4; ++byte)
        block_[4 * i + byte] = static_cast<unsigned char>(sum >> (8 * byte));
    }
    ++counter_;
    at_ = 0;
  }

  Words8 key_;
  std::array<std::uint32_t, 2> nonce_;
  std::uint64_t counter_ = 0;
  std::array<unsigned char, kBlock> block_{};
  std::size_t at_ = kBlock;
};

std::string poly1305(std::span<const unsigned char, kMacKey> key, std::string_view message) {
  const MacAlgorithm algorithm(EVP_MAC_fetch(nullptr, "POLY1305", nullptr));
  MIST_CHECK(algorithm != nullptr);
  const MacContext context(EVP_MAC_CTX_new(algorithm.get()));
  MIST_CHECK(context != nullptr && EVP_MAC_init(context.get(), key.data(), key.size(), nullptr) == 1);
  MIST_CHECK(EVP_MAC_update(context.get(), reinterpret_cast<const unsigned char*>(message.data()),
                            message.size()) == 1);
  std::string mac(kMac, '\0');
  std::size_t size = 0;
  MIST_CHECK(EVP_MAC_final(context.get(), reinterpret_cast<unsigned char*>(mac.data()), &size, mac.size()) ==
                 1 &&
             size == kMac);
  return mac;
}

std::array<unsigned char, kMacKey> mac_key(Stream& stream) {
  std::array<unsigned char, kMacKey> key{};
  std::ranges::generate(key, [&] { return stream.next(); });
  return key;
}

std::string mixed(Stream& stream, std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(static_cast<unsigned char>(c) ^ stream.next());
  return out;
}

}  // namespace

std::string secretbox_seal(const SecretboxKey& key, const SecretboxNonce& nonce, std::string_view plain) {
  Stream stream(key, nonce);
  const auto authenticator = mac_key(stream);
  const std::string hidden = mixed(stream, plain);
  return poly1305(authenticator, hidden) + hidden;
}

std::optional<std::string> secretbox_open(const SecretboxKey& key, const SecretboxNonce& nonce,
                                          std::string_view sealed) {
  if (sealed.size() < kMac) return std::nullopt;
  Stream stream(key, nonce);
  const auto authenticator = mac_key(stream);
  const std::string_view hidden = sealed.substr(kMac);
  if (!constant_time_equal(as_bytes(poly1305(authenticator, hidden)), as_bytes(sealed.substr(0, kMac))))
    return std::nullopt;
  return mixed(stream, hidden);
}

Result<std::vector<std::byte>> scrypt(const SecretString& password, std::span<const std::byte> salt,
                                      const ScryptCost& cost, std::size_t length) {
  const bool payable = std::has_single_bit(cost.n) && cost.n > 1 && cost.n <= (std::uint64_t{1} << 24) &&
                       cost.r >= 1 && cost.r <= 64 && cost.p >= 1 && cost.p <= 16 &&
                       cost.n * cost.r * 128 <= kMostMemory;
  std::vector<std::byte> out(length);
  const std::string& text = password.reveal();
  if (payable && EVP_PBE_scrypt(text.data(), text.size(), reinterpret_cast<const unsigned char*>(salt.data()),
                                salt.size(), cost.n, cost.r, cost.p, kMostMemory + (std::uint64_t{64} << 20),
                                reinterpret_cast<unsigned char*>(out.data()), out.size()) == 1)
    return out;
  ERR_clear_error();
  return error(ErrorKind::Invalid, "the key was encrypted with parameters that can't be used")
      .with_because(fmt::format("scrypt with N={}, r={}, p={}", cost.n, cost.r, cost.p))
      .with_hint("encrypt it again with the tool that made it");
}

}  // namespace mist::crypto
