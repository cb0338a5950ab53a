#include "package/secrets.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/diagnosis.h"
#include "base/text.h"
#include "crypto/hkdf.h"
#include "crypto/keys.h"
#include "package/looked_up.h"

namespace mist::package {
namespace {

constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kAlphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
constexpr std::string_view kHexDigits = "0123456789abcdef";

struct KindRow {
  std::string_view name;
  SecretKind kind;
  std::size_t length;  ///< where the request gives none; 0: it has no length
};
constexpr std::array kSecretKinds{
    KindRow{"password", SecretKind::Password, 24}, KindRow{"alphanumeric", SecretKind::Alphanumeric, 32},
    KindRow{"hex", SecretKind::Hex, 64},           KindRow{"base64", SecretKind::Base64, 32},
    KindRow{"bytes", SecretKind::Bytes, 32},       KindRow{"uuid", SecretKind::Uuid, 0},
    KindRow{"ed25519", SecretKind::Ed25519, 0},    KindRow{"ecdsa", SecretKind::Ecdsa, 0},
};

struct ClassRow {
  std::string_view name;
  bool (*holds)(char);
};
constexpr std::array kClasses{
    ClassRow{"lower", [](char c) { return kLower.find(c) != std::string_view::npos; }},
    ClassRow{"upper", [](char c) { return kUpper.find(c) != std::string_view::npos; }},
    ClassRow{"digit", [](char c) { return kDigits.find(c) != std::string_view::npos; }},
    ClassRow{"symbol", [](char c) { return kAlphanumeric.find(c) == std::string_view::npos; }},
};

template <typename Rows>
std::string names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return join(names, ", ");
}

Error wrong(std::string text) { return error(ErrorKind::Invalid, "secret.get: {}", text); }

// So that it can follow --rotate-secrets= without quotes.
bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= SecretRequest::kLongestName && name.front() != '-' &&
         std::ranges::all_of(name, [](char c) {
           return kAlphanumeric.find(c) != std::string_view::npos || c == '-' || c == '_' || c == '.' ||
                  c == '/';
         });
}

Status check_members(const Value& request, bool is_password, bool has_length) {
  for (const Value::Member& member : request.as_object()) {
    if (member.key == "op" || member.key == "name" || member.key == "kind") continue;
    if (member.key == "length" && has_length) continue;
    if ((member.key == "alphabet" || member.key == "require") && is_password) continue;
    return wrong(fmt::format("\"{}\" means nothing for the kind \"{}\"", escape_controls(member.key),
                             request.string_at("kind")));
  }
  return {};
}

Result<std::string> alphabet_of(const Value& request) {
  const Value* const given = request.find("alphabet");
  if (given == nullptr) return std::string(kAlphanumeric);
  std::string alphabet = given->is_string() ? given->as_string() : std::string();
  std::string sorted = alphabet;
  std::ranges::sort(sorted);
  if (alphabet.size() < 2 || std::ranges::any_of(alphabet, [](char c) { return c < '!' || c > '~'; }) ||
      std::ranges::adjacent_find(sorted) != sorted.end())
    return wrong("\"alphabet\" must be a text of at least two characters from ! to ~, each once");
  return alphabet;
}

Result<std::vector<std::string>> required_of(const Value& request, const std::string& alphabet) {
  std::vector<std::string> required;
  const Value* const given = request.find("require");
  if (given == nullptr) return required;
  if (!given->is_array()) return wrong(fmt::format("\"require\" must be a list of {}", names_of(kClasses)));
  for (const Value& item : given->as_array()) {
    const auto row = std::ranges::find(kClasses, item.is_string() ? item.as_string() : "", &ClassRow::name);
    if (row == kClasses.end())
      return wrong(fmt::format("\"require\" must be a list of {}", names_of(kClasses)));
    if (!std::ranges::any_of(alphabet, row->holds))
      return wrong(fmt::format("a {} is required, but the alphabet has none; give an \"alphabet\" with one",
                               row->name));
    if (std::ranges::find(required, row->name) == required.end()) required.emplace_back(row->name);
  }
  return required;
}

// Length first, so that ("ab", "c") and ("a", "bc") differ: a netstring.
std::string field(std::string_view text) { return fmt::format("{}:{},", text.size(), text); }

std::uint32_t rotation_of(const SecretScope& scope, std::string_view name) {
  const auto found = scope.rotations.find(std::string(name));
  return found == scope.rotations.end() ? 0 : found->second;
}

// The stream of one secret: docs/internals/secret-derivation.md, version 1.
crypto::RandomStream stream_of(const SecretScope& scope, const std::string& name) {
  return {scope.seed, "secret/v1/" + field(scope.package) + field(scope.install) + field(name) +
                          std::to_string(rotation_of(scope, name))};
}

std::string draw_bytes(crypto::RandomStream& stream, std::size_t count) {
  std::string bytes(count, '\0');
  stream.fill(std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

// Every character with the same chance: bytes beyond the largest multiple of the alphabet are drawn again.
std::string draw_text(crypto::RandomStream& stream, std::string_view alphabet, std::size_t length) {
  const std::size_t fair = 256 - 256 % alphabet.size();
  std::string text;
  while (text.size() < length) {
    std::byte byte{};
    stream.fill(std::span(&byte, 1));
    const auto number = std::to_integer<std::size_t>(byte);
    if (number < fair) text.push_back(alphabet[number % alphabet.size()]);
  }
  return text;
}

// Whole passwords are drawn again until one has what is required, so all that have it are equally likely.
Result<std::string> draw_password(crypto::RandomStream& stream, const SecretRequest& request) {
  constexpr int kTries = 10'000;
  const auto fits = [&](const std::string& text) {
    return std::ranges::all_of(request.require, [&](const std::string& name) {
      return std::ranges::any_of(text, std::ranges::find(kClasses, name, &ClassRow::name)->holds);
    });
  };
  for (int i = 0; i < kTries; ++i) {
    std::string text = draw_text(stream, request.alphabet, request.length);
    if (fits(text)) return text;
  }
  return wrong(fmt::format("hardly a password of {} characters of this alphabet has all that is required",
                           request.length));
}

// RFC 9562, version 4.
std::string draw_uuid(crypto::RandomStream& stream) {
  std::string bytes = draw_bytes(stream, 16);
  bytes[6] = static_cast<char>((static_cast<unsigned char>(bytes[6]) & 0x0fU) | 0x40U);
  bytes[8] = static_cast<char>((static_cast<unsigned char>(bytes[8]) & 0x3fU) | 0x80U);
  std::string text = hex(std::as_bytes(std::span(bytes)));
  for (const std::size_t at : {std::size_t{8}, std::size_t{13}, std::size_t{18}, std::size_t{23}})
    text.insert(at, "-");
  return text;
}

Secret secret_of(crypto::KeyPair pair) {
  return {SecretString(std::move(pair.private_pem)), std::move(pair.public_pem)};
}

using KeyBytes = std::array<std::byte, crypto::kKeyBytes>;

Secret draw_ecdsa(crypto::RandomStream& stream) {
  for (;;) {  // all but one of 2^32 scalars fit
    KeyBytes scalar{};
    stream.fill(scalar);
    if (auto pair = crypto::p256_key(scalar)) return secret_of(*std::move(pair));
  }
}

}  // namespace

Result<SecretRequest> SecretRequest::parse(const Value& request) {
  SecretRequest parsed;
  parsed.name = request.string_at("name");
  if (!is_name(parsed.name))
    return wrong(
        fmt::format("\"name\" must be 1 to {} letters, digits, '-', '_', '.' and '/', and not begin "
                    "with '-'",
                    kLongestName));
  const std::string_view kind = request.string_at("kind");
  if (kind == "rsa")
    return wrong("an RSA key can't be drawn from a seed here; ask for \"ecdsa\" or \"ed25519\"");
  const auto row = std::ranges::find(kSecretKinds, kind, &KindRow::name);
  if (row == kSecretKinds.end())
    return wrong(fmt::format("\"kind\" must be one of {}; it is \"{}\"", names_of(kSecretKinds),
                             escape_controls(kind)));
  parsed.kind = row->kind;
  MIST_TRY_VOID(check_members(request, row->kind == SecretKind::Password, row->length != 0));
  parsed.length = row->length;
  if (const Value* length = request.find("length")) {
    if (!length->is_int() || length->as_int() < static_cast<std::int64_t>(kLeast) ||
        length->as_int() > static_cast<std::int64_t>(kMost))
      return wrong(fmt::format("\"length\" must be a whole number from {} to {}", kLeast, kMost));
    parsed.length = static_cast<std::size_t>(length->as_int());
  }
  if (parsed.kind == SecretKind::Password) {
    MIST_TRY(parsed.alphabet, alphabet_of(request));
    MIST_TRY(parsed.require, required_of(request, parsed.alphabet));
  }
  return parsed;
}

Result<Secret> derive_secret(const SecretScope& scope, const SecretRequest& request) {
  crypto::RandomStream stream = stream_of(scope, request.name);
  switch (request.kind) {
    case SecretKind::Password: {
      MIST_TRY(std::string password, draw_password(stream, request));
      return Secret{SecretString(std::move(password)), {}};
    }
    case SecretKind::Alphanumeric:
      return Secret{SecretString(draw_text(stream, kAlphanumeric, request.length)), {}};
    case SecretKind::Hex:
      return Secret{SecretString(draw_text(stream, kHexDigits, request.length)), {}};
    case SecretKind::Base64:
    case SecretKind::Bytes:
      return Secret{SecretString(base64_encode(draw_bytes(stream, request.length))), {}};
    case SecretKind::Uuid:
      return Secret{SecretString(draw_uuid(stream)), {}};
    case SecretKind::Ed25519: {
      KeyBytes seed{};
      stream.fill(seed);
      return secret_of(crypto::ed25519_key(seed));
    }
    case SecretKind::Ecdsa:
      return draw_ecdsa(stream);
  }
  return error(ErrorKind::Internal, "a secret of an unknown kind");
}

crypto::Seed unnamed_seed(const SecretScope& scope) {
  const std::uint32_t rotation = rotation_of(scope, kUnnamed);
  if (rotation == 0) return scope.seed;
  return crypto::derived_seed(scope.seed, "mistletoe/rotated-seed/v1/" + std::to_string(rotation));
}

TextMask mask_of(const std::map<std::string, SecretString>& secrets) {
  std::vector<std::string> patterns;
  for (const auto& [name, secret] : secrets) {
    std::map<std::string, SecretString> forms;
    if (name.ends_with(kQuotedForm))  // quoted already
      forms.emplace("", secret);
    else
      add_forms(forms, "", secret.reveal());
    if (const std::string_view trimmed = trim(secret.reveal()); trimmed.size() >= kShortestInText)
      forms.emplace("trimmed", SecretString(std::string(trimmed)));
    for (const auto& [form, text] : forms) {
      patterns.push_back(text.reveal());
      // As it stands in the data of a Secret.
      patterns.push_back(base64_encode(text.reveal()));
    }
  }
  return TextMask(std::move(patterns));
}

std::string without_secrets(std::string text, const TextMask& mask) {
  return mask.masked(std::move(text), "***");
}

std::string without_secrets(std::string text, const std::map<std::string, SecretString>& secrets) {
  if (secrets.empty() || text.empty()) return text;
  return without_secrets(std::move(text), mask_of(secrets));
}

Error without_secrets(Error failure, const TextMask& mask) {
  if (mask.empty()) return failure;
  return with_texts(std::move(failure),
                    [&mask](std::string text) { return without_secrets(std::move(text), mask); });
}

Error without_secrets(Error failure, const std::map<std::string, SecretString>& secrets) {
  return without_secrets(std::move(failure), mask_of(secrets));
}

}  // namespace mist::package
