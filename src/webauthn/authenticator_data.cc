#include "webauthn/authenticator_data.h"

#include "encoding/cbor.h"
#include "webauthn/cose_key.h"

namespace mist::webauthn {
namespace {

constexpr std::size_t kHashSize = 32;
constexpr std::size_t kHeadSize = kHashSize + 1 + 4;
constexpr std::size_t kAaguidSize = 16;
constexpr unsigned kUserPresent = 1u << 0;
constexpr unsigned kUserVerified = 1u << 2;
constexpr unsigned kBackupEligible = 1u << 3;
constexpr unsigned kBackedUp = 1u << 4;
constexpr unsigned kHasCredential = 1u << 6;
constexpr unsigned kHasExtensions = 1u << 7;

Error unreadable_data(std::string_view why) {
  return error(ErrorKind::Invalid, "the authenticator's data can't be read").with_because(std::string(why));
}

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t number = 0;
  for (const char c : bytes) number = number << 8 | static_cast<unsigned char>(c);
  return number;
}

// Takes it from the beginning of `rest`.
Result<AttestedCredential> take_credential(std::string_view& rest) {
  if (rest.size() < kAaguidSize + 2) return unreadable_data("the credential is cut off");
  const std::size_t length = big_endian(rest.substr(kAaguidSize, 2));
  rest.remove_prefix(kAaguidSize + 2);
  if (length == 0 || length > kLongestCredential)
    return unreadable_data("the credential's identifier has a length that none has");
  if (rest.size() < length) return unreadable_data("the credential is cut off");
  const std::string_view id = rest.substr(0, length);
  rest.remove_prefix(length);
  encoding::CborReader reader(rest);
  MIST_TRY(crypto::PublicKey key, read_cose_key(reader));
  rest.remove_prefix(reader.offset());
  return AttestedCredential{.id = id, .key = std::move(key)};
}

}  // namespace

Result<AuthenticatorData> parse_authenticator_data(std::string_view bytes) {
  if (bytes.size() < kHeadSize) return unreadable_data("it is cut off");
  const auto flags = static_cast<unsigned char>(bytes[kHashSize]);
  const auto has = [&](unsigned flag) { return (flags & flag) != 0; };
  AuthenticatorData data{.rp_id_hash = bytes.substr(0, kHashSize),
                         .user_present = has(kUserPresent),
                         .user_verified = has(kUserVerified),
                         .backup_eligible = has(kBackupEligible),
                         .backed_up = has(kBackedUp),
                         .counter = big_endian(bytes.substr(kHashSize + 1, 4))};
  if (data.backed_up && !data.backup_eligible)
    return unreadable_data("it has a backup of what can't be backed up");
  std::string_view rest = bytes.substr(kHeadSize);
  if (has(kHasCredential)) {
    MIST_TRY(data.credential, take_credential(rest));
  }
  if (has(kHasExtensions)) {
    encoding::CborReader reader(rest);
    if (const auto pairs = encoding::CborReader(rest).map(); !pairs.ok())
      return unreadable_data("its extensions are no map");
    MIST_TRY_VOID(reader.skip());
    rest.remove_prefix(reader.offset());
  }
  if (!rest.empty()) return unreadable_data("something follows it");
  return data;
}

}  // namespace mist::webauthn
