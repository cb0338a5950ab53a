#include "trust/minisign.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/text.h"
#include "crypto/digest.h"
#include "crypto/secretbox.h"

namespace mist::trust {
namespace {

constexpr std::string_view kUntrusted = "untrusted comment:";
constexpr std::string_view kTrusted = "trusted comment: ";
constexpr std::string_view kPlainAlgorithm = "Ed";
constexpr std::string_view kHashedAlgorithm = "ED";
constexpr std::size_t kIdBytes = 8;
constexpr std::size_t kPublicBytes = 32;
constexpr std::size_t kSignatureBytes = 64;
constexpr std::size_t kMostLines = 16;

// SubjectPublicKeyInfo and PrivateKeyInfo of Ed25519 before the bytes of the key (RFC 8410).
constexpr std::string_view kPublicPrefix("\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00", 12);
constexpr std::string_view kPrivatePrefix("\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20",
                                          16);

Error no_minisign(std::string_view what, std::string because) {
  return error(ErrorKind::Invalid, "this is not a {} of minisign", what).with_because(std::move(because));
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::string_view line : split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (lines.size() == kMostLines) break;
    lines.push_back(line);
  }
  return lines;
}

// The line after an untrusted comment, or the only one.
std::optional<std::string> decoded_line(std::string_view text) {
  const std::vector<std::string_view> lines = lines_of(text);
  const std::size_t at = lines.front().starts_with(kUntrusted) ? 1 : 0;
  std::string bytes;
  if (at >= lines.size() || !base64_decode(trim(lines[at]), bytes)) return std::nullopt;
  return bytes;
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 8; i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

// libsodium's crypto_pwhash_scryptsalsa208sha256: from limits to costs.
crypto::ScryptCost cost_of(std::uint64_t operations, std::uint64_t memory) {
  operations = std::max<std::uint64_t>(operations, 32768);
  crypto::ScryptCost cost{.n = 2, .r = 8, .p = 1};
  const bool by_operations = operations < memory / 32;
  const std::uint64_t most = by_operations ? operations / (cost.r * 4) : memory / (cost.r * 128);
  while (cost.n <= most / 2 && cost.n < (std::uint64_t{1} << 40)) cost.n *= 2;
  if (!by_operations) cost.p = std::min<std::uint64_t>(operations / 4 / cost.n, 0x3fffffff) / cost.r;
  return cost;
}

std::optional<WallTime> time_of(std::string_view comment) {
  constexpr std::string_view kKey = "timestamp:";
  const auto at = comment.find(kKey);
  if (at == std::string_view::npos) return std::nullopt;
  std::int64_t seconds = 0;
  const char* const begin = comment.data() + at + kKey.size();
  const auto [end, problem] = std::from_chars(begin, comment.data() + comment.size(), seconds);
  if (problem != std::errc() || end == begin || seconds < 0 || seconds > 253'402'300'799) return std::nullopt;
  return WallTime(std::chrono::seconds(seconds));
}

// "timestamp:1700000000\tfile:web-1.0.0.wasm\thashed"
std::string file_in(std::string_view comment) {
  constexpr std::string_view kFile = "file:";
  for (const std::string_view part : split(comment, '\t'))
    if (part.starts_with(kFile)) return std::string(part.substr(kFile.size()));
  return {};
}

}  // namespace

bool is_minisign(std::string_view text) {
  return text.starts_with(kUntrusted) || text.starts_with("RW");  // base64 of "Ed" and a key's id
}

Result<crypto::PublicKey> read_minisign_public_key(std::string_view text) {
  const std::optional<std::string> bytes = decoded_line(text);
  if (!bytes) return no_minisign("public key", "it has no line of base64");
  if (bytes->size() != kPlainAlgorithm.size() + kIdBytes + kPublicBytes ||
      !bytes->starts_with(kPlainAlgorithm))
    return no_minisign("public key", "it isn't one of Ed25519");
  return crypto::PublicKey::from_der(std::string(kPublicPrefix) +
                                     bytes->substr(kPlainAlgorithm.size() + kIdBytes));
}

Result<MinisignClaim> parse_minisign(std::string_view text) {
  const std::vector<std::string_view> lines = lines_of(text);
  if (lines.size() < 4 || !lines[0].starts_with(kUntrusted))
    return no_minisign("signature",
                       "it doesn't begin with \"untrusted comment:\", or has less than four lines");
  MinisignClaim claim;
  std::string bytes;
  if (!base64_decode(trim(lines[1]), bytes) ||
      bytes.size() != kPlainAlgorithm.size() + kIdBytes + kSignatureBytes)
    return no_minisign("signature", "its second line is no signature");
  claim.prehashed = bytes.starts_with(kHashedAlgorithm);
  if (!claim.prehashed && !bytes.starts_with(kPlainAlgorithm))
    return no_minisign("signature", "it is of another algorithm than Ed25519");
  claim.key_id = bytes.substr(kPlainAlgorithm.size(), kIdBytes);
  claim.signature = bytes.substr(kPlainAlgorithm.size() + kIdBytes);
  if (!lines[2].starts_with(kTrusted))
    return no_minisign("signature", "its third line is no trusted comment");
  claim.trusted_comment = lines[2].substr(kTrusted.size());
  if (!base64_decode(trim(lines[3]), claim.global_signature) ||
      claim.global_signature.size() != kSignatureBytes)
    return no_minisign("signature", "its fourth line is no signature");
  claim.signed_at = time_of(claim.trusted_comment);
  claim.file = file_in(claim.trusted_comment);
  return claim;
}

bool verify_minisign(const MinisignClaim& claim, const crypto::PublicKey& key, std::string_view file) {
  if (key.kind() != crypto::KeyKind::Ed25519) return false;
  const std::string message = claim.prehashed ? crypto::blake2b_512(file) : std::string(file);
  return key.verify(message, claim.signature) &&
         key.verify(claim.signature + claim.trusted_comment, claim.global_signature);
}

// "Ed" | "Sc" or zeros | "B2" | salt 32 | operations 8 | memory 8 | (id 8 | seed 32, public key 32 | checksum
// 32) where what is in parentheses is combined with the scrypt of the password.
Result<MinisignKey> MinisignKey::read(std::string_view text, const AskPassword& ask) {
  constexpr std::size_t kSalt = 32, kLimits = 16, kHead = 6, kBody = kIdBytes + 64 + 32;
  const std::optional<std::string> bytes = decoded_line(text);
  if (!bytes || bytes->size() != kHead + kSalt + kLimits + kBody || !bytes->starts_with(kPlainAlgorithm))
    return no_minisign("private key", "it has no line of base64 with such a key");
  std::string body = bytes->substr(kHead + kSalt + kLimits);
  const std::string derivation = bytes->substr(2, 2);
  if (derivation == "Sc") {
    MIST_TRY(const SecretString password, ask());
    const std::string_view limits = std::string_view(*bytes).substr(kHead + kSalt, kLimits);
    MIST_TRY(const std::vector<std::byte> stream,
             crypto::scrypt(password, crypto::as_bytes(std::string_view(*bytes).substr(kHead, kSalt)),
                            cost_of(little_endian(limits), little_endian(limits.substr(8))), kBody));
    for (std::size_t i = 0; i < kBody; ++i)
      body[i] =
          static_cast<char>(static_cast<unsigned char>(body[i]) ^ std::to_integer<unsigned char>(stream[i]));
  } else if (derivation != std::string(2, '\0')) {
    return no_minisign("private key", "it is encrypted in another way than with scrypt");
  }
  MIST_TRY(crypto::PrivateKey key,
           crypto::PrivateKey::from_der(std::string(kPrivatePrefix) + body.substr(kIdBytes, 32)));
  // minisign has a checksum for this; that the public half fits shows the same.
  MIST_TRY(
      const crypto::PublicKey open,
      crypto::PublicKey::from_der(std::string(kPublicPrefix) + body.substr(kIdBytes + 32, kPublicBytes)));
  if (open != key.public_key())
    return error(ErrorKind::Invalid, "the private key can't be read")
        .with_because("the password is wrong, or the key is damaged")
        .with_hint("check the password");
  return MinisignKey(body.substr(0, kIdBytes), std::move(key));
}

std::string MinisignKey::sign(std::string_view file, std::string_view name, WallTime now) const {
  const std::string signature = key_.sign(crypto::blake2b_512(file));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  const std::string comment = fmt::format("timestamp:{}\tfile:{}\thashed", seconds, escape_controls(name));
  const std::string head = std::string(kHashedAlgorithm) + id_ + signature;
  return fmt::format("{} signature from mistctl\n{}\n{}{}\n{}\n", kUntrusted, base64_encode(head), kTrusted,
                     comment, base64_encode(key_.sign(signature + comment)));
}

}  // namespace mist::trust
