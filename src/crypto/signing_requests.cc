#include "crypto/signing_requests.h"

#include "base/text.h"
#include "crypto/der.h"

namespace mist::crypto {
namespace {

std::string sequence_of(std::string_view content) { return der_element('\x30', content); }

}  // namespace

std::string certificate_request(const PrivateKey& key) {
  MIST_CHECK(key.public_key().kind() == KeyKind::EcdsaP256);
  using namespace std::string_view_literals;
  constexpr std::string_view kVersion = "\x02\x01\x00"sv;
  constexpr std::string_view kNoName = "\x30\x00"sv;
  constexpr std::string_view kNoAttributes = "\xa0\x00"sv;
  constexpr std::string_view kEcdsaWithSha256 = "\x30\x0a\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x02"sv;
  const std::string information =
      sequence_of(fmt::format("{}{}{}{}", kVersion, kNoName, key.public_key().der(), kNoAttributes));
  const std::string signature = der_element('\x03', std::string(1, '\0') + key.sign(information));
  return pem_block("CERTIFICATE REQUEST",
                   sequence_of(fmt::format("{}{}{}", information, kEcdsaWithSha256, signature)));
}

std::string certificate_pem(std::string_view der) { return pem_block("CERTIFICATE", der); }

std::string timestamp_request(std::string_view message) {
  using namespace std::string_view_literals;
  constexpr std::string_view kVersion = "\x02\x01\x01"sv;
  constexpr std::string_view kSha256 = "\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00"sv;
  constexpr std::string_view kWithCertificate = "\x01\x01\xff"sv;
  const Digest digest = sha256(message);
  const std::string imprint = sequence_of(fmt::format("{}{}", kSha256, der_element('\x04', digest.raw())));
  return sequence_of(fmt::format("{}{}{}", kVersion, imprint, kWithCertificate));
}

}  // namespace mist::crypto
