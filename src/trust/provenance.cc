#include "trust/provenance.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace mist::trust {
namespace {

using encoding::Value;

constexpr std::size_t kMostText = 300;

constexpr std::string_view kBadKeyring = "badKeyring";

struct FaultWords {
  std::string_view fault;
  std::string_view words;
};
// As engines/openpgp/README.md lists them.
constexpr std::array kFaultWords{
    FaultWords{kBadKeyring, "it can't be read"},
    FaultWords{"notSigned", "it is no text that was signed in clear with OpenPGP"},
    FaultWords{"textOutside", "it holds text outside of what was signed"},
    FaultWords{"damaged", "its signature can't be read"},
    FaultWords{"severalSignatures", "it has several signatures"},
    FaultWords{"otherKind", "its signature is of a kind that vouches for no text"},
    FaultWords{"weakHash", "its signature is over a digest that can be forged"},
    FaultWords{"weakKey", "its key is too weak"},
    FaultWords{"unknownKey", "it is of no key of the keyring"},
    FaultWords{"notForSigning", "its key is not one that may sign"},
    FaultWords{"wrongSignature", "its signature doesn't fit the text"},
    FaultWords{"fromFuture", "it says that it was made later than now"},
    FaultWords{"expiredSignature", "its signature has expired"},
    FaultWords{"expiredKey", "its key has expired"},
    FaultWords{"revokedKey", "its key was revoked"},
    FaultWords{"badText", "what was signed is no chart's metadata with the digests of its files"},
};

std::string shortened(std::string_view text) { return escape_controls(text.substr(0, kMostText)); }

std::string words_of(std::string_view fault, std::string_view detail) {
  const auto* const known = std::ranges::find(kFaultWords, fault, &FaultWords::fault);
  const std::string words = known == kFaultWords.end() ? fmt::format("it isn't valid ({})", shortened(fault))
                                                       : std::string(known->words);
  return detail.empty() ? words : fmt::format("{}: {}", words, shortened(detail));
}

ProvenanceSigner signer_in(const Value& value) {
  ProvenanceSigner signer{.key_id = std::string(value.string_at("keyId")),
                          .fingerprint = std::string(value.string_at("fingerprint")),
                          .identities = value.texts_at("identities"),
                          .algorithm = std::string(value.string_at("algorithm")),
                          .signed_at = {}};
  const Value* const at = value.find("signedAt");
  if (at != nullptr && at->is_int() && at->as_int() >= 0 && at->as_int() <= 253'402'300'799)
    signer.signed_at = WallTime(std::chrono::seconds(at->as_int()));
  if (!base64_decode(value.string_at("certificate"), signer.certificate)) signer.certificate.clear();
  return signer;
}

// Why a text that is signed isn't about that archive; empty: it is.
std::string objection_to(const CheckedProvenance& checked, const ChartArchive& archive) {
  // Or an old version, or another chart of the same publisher, could be passed off as this one.
  if (checked.name != archive.name || checked.version != archive.version)
    return fmt::format("it was made for the chart {} {}, and this is {} {}", shortened(checked.name),
                       shortened(checked.version), shortened(archive.name), shortened(archive.version));
  // As Helm: a file that got the name of another version is not what its name says.
  const std::string file =
      archive.file.empty() ? fmt::format("{}-{}.tgz", archive.name, archive.version) : archive.file;
  const auto signed_file = checked.files.find(file);
  if (signed_file == checked.files.end()) return fmt::format("it names no file {}", shortened(file));
  if (signed_file->second == archive.digest.str()) return {};
  return fmt::format("it is for another archive: the digest of {} is {}, and {} was signed", shortened(file),
                     archive.digest.str(), shortened(signed_file->second));
}

}  // namespace

Result<CheckedProvenance> checked_provenance(const Value& answer) {
  if (!answer.is_object()) return error(ErrorKind::Internal, "the OpenPGP engine gave no answer");
  CheckedProvenance checked;
  if (const std::string_view fault = answer.string_at("fault"); !fault.empty()) {
    checked.fault = words_of(fault, answer.string_at("detail"));
    checked.is_of_keyring = fault == kBadKeyring;
  }
  if (const Value* const signer = answer.find("signer"); signer != nullptr && signer->is_object())
    checked.signer = signer_in(*signer);
  if (const Value* const chart = answer.find("metadata"); chart != nullptr && chart->is_object()) {
    checked.name = chart->string_at("name");
    checked.version = chart->string_at("version");
  }
  if (const Value* const files = answer.find("files"); files != nullptr && files->is_object())
    for (const Value::Member& each : files->as_object())
      if (each.value.is_string()) checked.files.emplace(each.key, each.value.as_string());
  return checked;
}

Proof prove_provenance(const CheckedProvenance& checked, const ChartArchive& archive,
                       const Keyring& keyring) {
  Proof proof{.form = oci::SignatureForm::Helm,
              .keys = {},
              .algorithm = {},
              .name = {},
              .signed_at = {},
              .objection = checked.fault,
              .root = keyring.digest.str()};
  if (checked.signer) {
    proof.algorithm = checked.signer->algorithm;
    proof.signed_at = checked.signer->signed_at;
    if (!checked.signer->identities.empty()) proof.user = shortened(checked.signer->identities.front());
    if (!checked.signer->fingerprint.empty())
      proof.keys = {fmt::format("{}{}", kOpenPgpPrefix, checked.signer->fingerprint)};
    else if (!proof.objection.empty())
      proof.objection += fmt::format(" (it names the key {})", shortened(checked.signer->key_id));
  }
  if (proof.objection.empty()) proof.objection = objection_to(checked, archive);
  if (proof.objection.empty() && proof.keys.empty()) proof.objection = "it doesn't identify its key";
  return proof;
}

}  // namespace mist::trust
