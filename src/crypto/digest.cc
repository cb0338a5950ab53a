// OpenSSL's low-level SHA-256. Version 3 calls it deprecated in favour of EVP, but the first use of EVP in a
// process reads openssl.cnf and looks for providers, which takes 1 ms of a command that has 10.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "crypto/digest.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/hex.h"
#include "base/text.h"

namespace mist::crypto {
namespace {

constexpr std::string_view kPrefix = "sha256:";

}  // namespace

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

Result<Digest> Digest::parse(std::string_view text) {
  const auto invalid = [&] {
    return error(ErrorKind::Invalid, "\"{}\" is not a digest", escape_controls(text.substr(0, 100)))
        .with_hint("a digest is written sha256: and 64 lower-case hexadecimal digits");
  };
  if (!text.starts_with(kPrefix) || text.size() != kPrefix.size() + 2 * kSize) return invalid();
  const std::optional<std::string> raw = bytes_of_hex(text.substr(kPrefix.size()));
  if (!raw) return invalid();
  Bytes bytes{};
  std::ranges::copy(as_bytes(*raw), bytes.begin());
  return Digest(bytes);
}

std::string Digest::raw() const { return {reinterpret_cast<const char*>(bytes_.data()), kSize}; }

std::string Digest::hex() const { return mist::hex(bytes_); }

std::string Digest::str() const { return std::string(kPrefix) + hex(); }

Digest sha256(std::span<const std::byte> bytes) { return Hasher().update(bytes).finish(); }

Digest sha256(std::string_view text) { return sha256(as_bytes(text)); }

static_assert(sizeof(SHA256_CTX) <= 112 && alignof(SHA256_CTX) <= 8);

Hasher::Hasher() { MIST_CHECK(::SHA256_Init(reinterpret_cast<SHA256_CTX*>(state_.data())) == 1); }

Hasher& Hasher::update(std::span<const std::byte> bytes) {
  MIST_CHECK(::SHA256_Update(reinterpret_cast<SHA256_CTX*>(state_.data()), bytes.data(), bytes.size()) == 1);
  return *this;
}

Hasher& Hasher::update(std::string_view text) { return update(as_bytes(text)); }

Hasher& Hasher::field(std::string_view text) {
  std::array<std::byte, 8> length{};
  for (std::size_t i = 0; i < length.size(); ++i)
    length[i] = static_cast<std::byte>(std::uint64_t{text.size()} >> (8 * i));
  return update(length).update(text);
}

Digest Hasher::finish() {
  Digest::Bytes out{};
  MIST_CHECK(::SHA256_Final(reinterpret_cast<unsigned char*>(out.data()),
                            reinterpret_cast<SHA256_CTX*>(state_.data())) == 1);
  return Digest(out);
}

Digest::Bytes hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> message) {
  std::array<std::byte, 64> inner{};  // the block size of SHA-256
  if (key.size() > inner.size())
    std::ranges::copy(sha256(key).bytes(), inner.begin());
  else
    std::ranges::copy(key, inner.begin());
  std::array<std::byte, 64> outer = inner;
  for (std::byte& value : inner) value ^= std::byte{0x36};
  for (std::byte& value : outer) value ^= std::byte{0x5c};
  const Digest first = Hasher().update(inner).update(message).finish();
  const Digest result = Hasher().update(outer).update(first.bytes()).finish();
  ::OPENSSL_cleanse(inner.data(), inner.size());
  ::OPENSSL_cleanse(outer.data(), outer.size());
  return result.bytes();
}

bool constant_time_equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace mist::crypto
