#include "webauthn/cose_key.h"

#include <map>
#include <string_view>

#include "crypto/raw_keys.h"

namespace mist::webauthn {
namespace {

using encoding::CborReader;

// RFC 9053, section 7; RFC 8230, section 4.
constexpr std::int64_t kKeyType = 1;
constexpr std::int64_t kAlgorithm = 3;
constexpr std::int64_t kCurve = -1;  // of RSA the modulus
constexpr std::int64_t kX = -2;      // of RSA the exponent
constexpr std::int64_t kY = -3;
constexpr std::int64_t kOctetKeyPair = 1;
constexpr std::int64_t kEllipticCurve = 2;
constexpr std::int64_t kRsa = 3;
constexpr std::int64_t kP256 = 1;
constexpr std::int64_t kEd25519 = 6;
constexpr std::size_t kMostMembers = 5;

struct Members {
  std::map<std::int64_t, std::int64_t> numbers = {};
  std::map<std::int64_t, std::string_view> texts = {};

  bool is(std::int64_t label, std::int64_t value) const {
    const auto found = numbers.find(label);
    return found != numbers.end() && found->second == value;
  }
  std::string_view text(std::int64_t label) const {
    const auto found = texts.find(label);
    return found == texts.end() ? std::string_view() : found->second;
  }
  std::size_t size() const { return numbers.size() + texts.size(); }
};

Error no_key(std::string_view why) {
  return error(ErrorKind::Invalid, "the authenticator's key can't be used").with_because(std::string(why));
}

Result<Members> members_in(CborReader& reader) {
  MIST_TRY(const std::size_t count, reader.map());
  if (count > kMostMembers) return no_key("it has more members than a key has");
  Members members;
  for (std::size_t i = 0; i < count; ++i) {
    MIST_TRY(const std::int64_t label, reader.integer());
    if (members.numbers.contains(label) || members.texts.contains(label))
      return no_key("it has a member twice");
    if (auto number = reader.integer(); number.ok()) {
      members.numbers.emplace(label, *number);
      continue;
    }
    MIST_TRY(const std::string_view text, reader.bytes());
    members.texts.emplace(label, text);
  }
  return members;
}

}  // namespace

Result<crypto::PublicKey> read_cose_key(CborReader& reader) {
  MIST_TRY(const Members members, members_in(reader));
  if (members.is(kKeyType, kEllipticCurve) && members.is(kAlgorithm, kEs256) && members.is(kCurve, kP256) &&
      members.size() == 5)
    return crypto::p256_public_key(members.text(kX), members.text(kY));
  if (members.is(kKeyType, kOctetKeyPair) && members.is(kAlgorithm, kEdDsa) && members.is(kCurve, kEd25519) &&
      members.size() == 4)
    return crypto::ed25519_public_key(members.text(kX));
  if (members.is(kKeyType, kRsa) && members.is(kAlgorithm, kRs256) && members.size() == 4)
    return crypto::rsa_public_key(members.text(kCurve), members.text(kX));
  return no_key("its algorithm is none of ES256, EdDSA with Ed25519, and RS256");
}

}  // namespace mist::webauthn
