#include "release/seal.h"

#include <fmt/format.h>

#include <array>

#include "base/result.h"
#include "base/text.h"
#include "crypto/digest.h"

namespace mist::release {

namespace {
constexpr std::string_view kPurpose = "mistletoe record seal v1";
}

Seals Seals::none() {
  Seals seals;
  seals.state_ = State::None;
  return seals;
}

Seals Seals::lost() {
  Seals seals;
  seals.state_ = State::Lost;
  return seals;
}

Seals Seals::with(SecretString key, int first) {
  Seals seals;
  seals.state_ = State::Key;
  seals.key_ = std::move(key);
  seals.first_ = first;
  return seals;
}

Seals Seals::draw(Random& random, int first) {
  std::array<std::byte, 32> key;
  random.fill(key);
  return with(SecretString(std::string(reinterpret_cast<const char*>(key.data()), key.size())), first);
}

// Each field with its length before it, so that no two lists of fields give the same text.
std::string Seals::make(std::string_view what, std::string_view owner,
                        std::initializer_list<std::string_view> fields) const {
  MIST_CHECK(has_key(), "a seal needs a key");
  std::string message;
  const auto add = [&](std::string_view field) {
    message += fmt::format("{}:", field.size());
    message += field;
  };
  add(kPurpose);
  add(what);
  add(owner);
  for (const std::string_view field : fields) add(field);
  const crypto::Digest::Bytes mac =
      crypto::hmac_sha256(crypto::as_bytes(key_.reveal()), crypto::as_bytes(message));
  return base64_encode({reinterpret_cast<const char*>(mac.data()), mac.size()});
}

bool Seals::holds(std::string_view seal, std::string_view what, std::string_view owner,
                  std::initializer_list<std::string_view> fields) const {
  return has_key() &&
         crypto::constant_time_equal(crypto::as_bytes(make(what, owner, fields)), crypto::as_bytes(seal));
}

}  // namespace mist::release
