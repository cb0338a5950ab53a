#include "crypto/signing_requests.h"

#include "base/text.h"

namespace mist::crypto {
namespace {

constexpr std::size_t kPemColumns = 64;

std::string tagged(char tag, std::string_view content) {
  std::string der(1, tag);
  constexpr std::size_t kShortLength = 128;
  constexpr unsigned kByte = 8;
  if (content.size() < kShortLength) {
    der.push_back(static_cast<char>(content.size()));
  } else {
    std::string length;
    for (std::size_t rest = content.size(); rest > 0; rest >>= kByte)
      length.insert(length.begin(), static_cast<char>(rest & 0xff));
    der.push_back(static_cast<char>(kShortLength | length.size()));
    der += length;
  }
  return der.append(content);
}
std::string sequence_of(std::string_view content) { return tagged('\x30', content); }

std::string der_of(const PublicKey& key) {
  std::string encoded;
  const std::string pem = key.pem();
  for (const std::string_view line : split(pem, '\n'))
    if (!line.starts_with('-')) encoded += line;
  std::string der;
  MIST_CHECK(base64_decode(encoded, der));
  return der;
}

std::string pem_of(std::string_view label, std::string_view der) {
  const std::string encoded = base64_encode(der);
  std::string lines;
  for (std::size_t at = 0; at < encoded.size(); at += kPemColumns)
    lines += encoded.substr(at, kPemColumns) + "\n";
  return fmt::format("-----BEGIN {0}-----\n{1}-----END {0}-----\n", label, lines);
}

}  // namespace

std::string certificate_request(const PrivateKey& key) {
  MIST_CHECK(key.public_key().kind() == KeyKind::EcdsaP256);
  using namespace std::string_view_literals;
  constexpr std::string_view kVersion = "\x02\x01\x00"sv;
  constexpr std::string_view kNoName = "\x30\x00"sv;
  constexpr std::string_view kNoAttributes = "\xa0\x00"sv;
  constexpr std::string_view kEcdsaWithSha256 = "\x30\x0a\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x02"sv;
  const std::string information =
      sequence_of(fmt::format("{}{}{}{}", kVersion, kNoName, der_of(key.public_key()), kNoAttributes));
  const std::string signature = tagged('\x03', std::string(1, '\0') + key.sign(information));
  return pem_of("CERTIFICATE REQUEST",
                sequence_of(fmt::format("{}{}{}", information, kEcdsaWithSha256, signature)));
}

std::string certificate_pem(std::string_view der) { return pem_of("CERTIFICATE", der); }

std::string timestamp_request(std::string_view message) {
  using namespace std::string_view_literals;
  constexpr std::string_view kVersion = "\x02\x01\x01"sv;
  constexpr std::string_view kSha256 = "\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00"sv;
  constexpr std::string_view kWithCertificate = "\x01\x01\xff"sv;
  const Digest digest = sha256(message);
  const std::string_view bytes(reinterpret_cast<const char*>(digest.bytes().data()), Digest::kSize);
  const std::string imprint = sequence_of(fmt::format("{}{}", kSha256, tagged('\x04', bytes)));
  return sequence_of(fmt::format("{}{}{}", kVersion, imprint, kWithCertificate));
}

}  // namespace mist::crypto
