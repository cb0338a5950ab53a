#include "trust/key_file.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "crypto/der.h"
#include "crypto/keys.h"
#include "crypto/secretbox.h"
#include "encoding/json.h"

namespace mist::trust {
namespace {

using encoding::Value;

constexpr std::array<std::string_view, 2> kCosignLabels{"ENCRYPTED SIGSTORE PRIVATE KEY",
                                                        "ENCRYPTED COSIGN PRIVATE KEY"};
constexpr std::size_t kSaltBytes = 32;

Error no_cosign_key(std::string because) {
  return error(ErrorKind::Invalid, "the private key can't be read")
      .with_because(std::move(because))
      .with_hint("it is in cosign's form; `cosign import-key-pair` makes such a key from another one");
}

// The bytes between the first two lines with dashes; nothing: they aren't base64.
std::optional<std::string> pem_content(std::string_view text) {
  const auto begin = text.find('\n', text.find("-----BEGIN "));
  const auto end = text.find("-----END ");
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return std::nullopt;
  std::string encoded;
  for (const char c : text.substr(begin, end - begin))
    if (c != '\n' && c != '\r' && c != ' ' && c != '\t') encoded.push_back(c);
  std::string content;
  return base64_decode(encoded, content) ? std::optional(std::move(content)) : std::nullopt;
}

std::uint64_t number_at(const Value& object, std::string_view key) {
  const Value* const value = object.at_path({"kdf", "params", key});
  return value != nullptr && value->is_int() && value->as_int() > 0
             ? static_cast<std::uint64_t>(value->as_int())
             : 0;
}

template <std::size_t Size>
std::array<std::byte, Size> array_of(std::span<const std::byte> bytes) {
  std::array<std::byte, Size> out{};
  std::ranges::copy(bytes.first(Size), out.begin());
  return out;
}

Result<crypto::PrivateKey> read_cosign_key(std::string_view text, const AskPassword& ask) {
  const std::optional<std::string> content = pem_content(text);
  if (!content) return no_cosign_key("its content is not base64");
  const Result<Value> document = encoding::parse_json(*content, {.strict = true, .max_depth = 8});
  if (!document) return no_cosign_key("its content is not JSON");
  if (document->string_at({"kdf", "name"}) != "scrypt" ||
      document->string_at({"cipher", "name"}) != "nacl/secretbox")
    return no_cosign_key("it isn't encrypted with scrypt and nacl/secretbox");
  std::string salt, nonce, sealed;
  if (!base64_decode(document->string_at({"kdf", "salt"}), salt) ||
      !base64_decode(document->string_at({"cipher", "nonce"}), nonce) ||
      !base64_decode(document->string_at("ciphertext"), sealed) ||
      nonce.size() != sizeof(crypto::SecretboxNonce))
    return no_cosign_key("its salt, nonce or ciphertext is damaged");
  MIST_TRY(const SecretString password, ask());
  const crypto::ScryptCost cost{number_at(*document, "N"), number_at(*document, "r"),
                                number_at(*document, "p")};
  MIST_TRY(const std::vector<std::byte> derived,
           crypto::scrypt(password, crypto::as_bytes(salt), cost, sizeof(crypto::SecretboxKey)));
  const std::optional<std::string> plain =
      crypto::secretbox_open(array_of<sizeof(crypto::SecretboxKey)>(derived),
                             array_of<sizeof(crypto::SecretboxNonce)>(crypto::as_bytes(nonce)), sealed);
  if (!plain)
    return error(ErrorKind::Invalid, "the private key can't be read")
        .with_because("the password is wrong, or the key is damaged")
        .with_hint("check the password");
  return crypto::PrivateKey::from_der(*plain);
}

}  // namespace

Result<crypto::PrivateKey> read_private_key(std::string_view text, const AskPassword& ask) {
  const std::string_view label = crypto::pem_label(text);
  if (std::ranges::find(kCosignLabels, label) != kCosignLabels.end()) return read_cosign_key(text, ask);
  const bool encrypted =
      label == "ENCRYPTED PRIVATE KEY" || text.find("Proc-Type: 4,ENCRYPTED") != std::string_view::npos;
  if (!encrypted) return crypto::PrivateKey::parse(text);
  MIST_TRY(const SecretString password, ask());
  return crypto::PrivateKey::parse(text, password);
}

NewKey make_key(const SecretString& password, Random& random) {
  std::optional<crypto::KeyPair> pair;
  while (!pair) {
    std::array<std::byte, crypto::kKeyBytes> scalar{};
    random.fill(scalar);
    pair = crypto::p256_key(scalar);
  }
  std::array<std::byte, kSaltBytes> salt{};
  crypto::SecretboxNonce nonce{};
  random.fill(salt);
  random.fill(nonce);
  const crypto::ScryptCost cost;
  const Result<std::vector<std::byte>> derived =
      crypto::scrypt(password, salt, cost, sizeof(crypto::SecretboxKey));
  const std::optional<std::string> der = pem_content(pair->private_pem);
  MIST_CHECK(derived.ok() && der);
  const auto text_of = [](std::span<const std::byte> bytes) {
    return base64_encode({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  };
  const std::string sealed =
      crypto::secretbox_seal(array_of<sizeof(crypto::SecretboxKey)>(*derived), nonce, *der);
  const Value document = Value::object(
      {{"kdf", Value::object({{"name", "scrypt"},
                              {"params", Value::object({{"N", cost.n}, {"r", cost.r}, {"p", cost.p}})},
                              {"salt", text_of(salt)}})},
       {"cipher", Value::object({{"name", "nacl/secretbox"}, {"nonce", text_of(nonce)}})},
       {"ciphertext", base64_encode(sealed)}});
  return {crypto::pem_block(kCosignLabels.front(), encoding::to_json(document)), pair->public_pem};
}

}  // namespace mist::trust
