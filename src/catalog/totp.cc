#include "catalog/totp.h"

#include <fmt/core.h>

#include <array>

#include "base/text.h"
#include "crypto/digest.h"
#include "crypto/hmac_sha1.h"
#include "http/url.h"

namespace mist::catalog {
namespace {

constexpr std::int64_t kStepSeconds = 30;
constexpr int kRecoveryCodes = 10;
constexpr std::size_t kRecoveryBytes = 10;

// Of what somebody typed: digits and letters alone, in lower case.
std::string plain_code(std::string_view typed) {
  std::string plain;
  for (const char c : lower_case(typed))
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z')) plain += c;
  return plain;
}

std::string random_bytes(Random& random, std::size_t count) {
  std::string bytes(count, '\0');
  random.fill(std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

}  // namespace

std::int64_t totp_step(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count() / kStepSeconds;
}

std::string totp_code(std::string_view secret, std::int64_t step, int digits) {
  std::array<std::byte, 8> counter{};
  for (std::size_t i = 0; i < counter.size(); ++i)
    counter[i] = static_cast<std::byte>(static_cast<std::uint64_t>(step) >> (8 * (counter.size() - 1 - i)));
  const auto hash = crypto::hmac_sha1(crypto::as_bytes(secret), counter);
  // RFC 4226, section 5.3: four bytes from where the last half byte says, without the sign.
  const auto at = std::to_integer<std::size_t>(hash.back() & std::byte{0x0f});
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8 | std::to_integer<std::uint32_t>(hash[at + i]);
  number &= 0x7fffffffU;
  std::uint32_t modulus = 1;
  for (int i = 0; i < digits; ++i) modulus *= 10;
  return fmt::format("{:0{}}", number % modulus, digits);
}

std::optional<std::int64_t> step_of_code(std::string_view secret, std::string_view code, WallTime now) {
  const std::string typed = plain_code(code);
  const std::int64_t present = totp_step(now);
  std::optional<std::int64_t> found;
  for (std::int64_t step = present - 1; step <= present + 1; ++step)
    if (crypto::constant_time_equal(crypto::as_bytes(totp_code(secret, step)), crypto::as_bytes(typed)))
      found = step;
  return found;
}

std::string new_totp_secret(Random& random) { return random_bytes(random, kTotpSecretBytes); }

std::string base32(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  std::string text;
  std::uint32_t held = 0;
  int bits = 0;
  for (const char c : bytes) {
    held = held << 8 | static_cast<unsigned char>(c);
    for (bits += 8; bits >= 5; bits -= 5) text += kDigits[held >> (bits - 5) & 31U];
    held &= (1U << bits) - 1;
  }
  if (bits > 0) text += kDigits[held << (5 - bits) & 31U];
  return text;
}

std::string totp_uri(std::string_view secret, std::string_view account, std::string_view catalog_host) {
  return fmt::format("otpauth://totp/{0}:{1}?secret={2}&issuer={0}", http::escape_segment(catalog_host),
                     http::escape_segment(account), base32(secret));
}

std::vector<SecretString> new_recovery_codes(Random& random) {
  std::vector<SecretString> codes;
  for (int i = 0; i < kRecoveryCodes; ++i) {
    const std::string letters = lower_case(base32(random_bytes(random, kRecoveryBytes)));
    codes.emplace_back(fmt::format("{}-{}-{}-{}", letters.substr(0, 4), letters.substr(4, 4),
                                   letters.substr(8, 4), letters.substr(12, 4)));
  }
  return codes;
}

std::string recovery_digest(std::string_view code) { return crypto::sha256(plain_code(code)).str(); }

}  // namespace mist::catalog
