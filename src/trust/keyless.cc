#include "trust/keyless.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <vector>

#include "base/text.h"
#include "encoding/json.h"

namespace mist::trust {
namespace {

using encoding::Value;

constexpr int kEntryDepth = 16;
constexpr std::size_t kMostEntryValues = 1'000;
constexpr std::size_t kMostIdentityBytes = 2'000;
constexpr std::size_t kMostNoteSignatures = 20;

Error refused(std::string message, std::string because = {}) {
  return error(ErrorKind::Invalid, "{}", message).with_because(std::move(because));
}

std::string shown(std::string_view foreign) { return escape_controls(foreign.substr(0, 300)); }
std::string hex_of(std::string_view bytes) { return hex(crypto::as_bytes(bytes)); }

// The signature that an entry of the log must be about.
struct Signed {
  const oci::SignatureClaim& claim;
  std::string certificate;  ///< DER
};

// The certificate stands there as PEM in base64.
Status names_certificate(const Signed& is, std::string_view encoded) {
  std::string pem;
  if (base64_decode(encoded, pem)) {
    const std::vector<std::string> blocks = crypto::certificate_blocks(pem);
    if (!blocks.empty() && blocks.front() == is.certificate) return {};
  }
  return refused("its log entry is about another certificate");
}

Status names_signature(const Signed& is, std::string_view encoded) {
  std::string signature;
  if (base64_decode(encoded, signature) && signature == is.claim.signature) return {};
  return refused("its log entry is about another signature");
}

Status names_digest(std::string_view algorithm, std::string_view value, std::string_view bytes) {
  if (algorithm == "sha256" && value == crypto::sha256(bytes).hex()) return {};
  return refused("its log entry is about other bytes");
}

// hashedrekord 0.0.1: of bare messages.
Status fits_hashedrekord(const Signed& is, const Value& spec) {
  MIST_TRY_VOID(names_digest(spec.string_at({"data", "hash", "algorithm"}),
                             spec.string_at({"data", "hash", "value"}), is.claim.message));
  MIST_TRY_VOID(names_signature(is, spec.string_at({"signature", "content"})));
  return names_certificate(is, spec.string_at({"signature", "publicKey", "content"}));
}

const Value* only_item(const Value* list) {
  return list != nullptr && list->is_array() && list->size() == 1 ? &list->as_array().front() : nullptr;
}

// hashedrekord 0.0.2, of Rekor 2: of bare messages, and of envelopes by what their signature is made of. All
// in base64.
Status fits_hashedrekord_2(const Signed& is, const Value& spec) {
  std::string digest;
  if (spec.string_at({"hashedRekordV002", "data", "algorithm"}) != "SHA2_256" ||
      !base64_decode(spec.string_at({"hashedRekordV002", "data", "digest"}), digest) ||
      digest != crypto::sha256(is.claim.message).raw())
    return refused("its log entry is about other bytes");
  MIST_TRY_VOID(names_signature(is, spec.string_at({"hashedRekordV002", "signature", "content"})));
  std::string certificate;
  const Value* const verifier = spec.at_path({"hashedRekordV002", "signature", "verifier"});
  if (verifier == nullptr ||
      !base64_decode(verifier->string_at({"x509Certificate", "rawBytes"}), certificate) ||
      certificate != is.certificate)
    return refused("its log entry is about another certificate");
  return {};
}

// dsse 0.0.1: the payload's digest and the signature determine the envelope.
Status fits_dsse(const Signed& is, const Value& spec) {
  const Value* const signature = only_item(spec.find("signatures"));
  if (signature == nullptr) return refused("its log entry has not exactly one signature");
  MIST_TRY_VOID(names_digest(spec.string_at({"payloadHash", "algorithm"}),
                             spec.string_at({"payloadHash", "value"}), is.claim.payload));
  MIST_TRY_VOID(names_signature(is, signature->string_at("signature")));
  return names_certificate(is, signature->string_at("verifier"));
}

// intoto 0.0.2: the envelope's signature, which is base64, stands there in base64.
Status fits_intoto(const Signed& is, const Value& spec) {
  const Value* const signature = only_item(spec.at_path({"content", "envelope", "signatures"}));
  if (signature == nullptr) return refused("its log entry has not exactly one signature");
  MIST_TRY_VOID(names_digest(spec.string_at({"content", "payloadHash", "algorithm"}),
                             spec.string_at({"content", "payloadHash", "value"}), is.claim.payload));
  std::string once;
  if (!base64_decode(signature->string_at("sig"), once)) once.clear();
  MIST_TRY_VOID(names_signature(is, once));
  return names_certificate(is, signature->string_at("publicKey"));
}

enum class EntryOf : std::uint8_t { Message, Envelope, Either };
struct EntryKind {
  std::string_view kind;
  std::string_view version;
  EntryOf of;
  Status (*fits)(const Signed&, const Value& spec);
};
constexpr EntryKind kEntryKinds[] = {
    {"hashedrekord", "0.0.1", EntryOf::Message, fits_hashedrekord},
    {"hashedrekord", "0.0.2", EntryOf::Either, fits_hashedrekord_2},
    {"dsse", "0.0.1", EntryOf::Envelope, fits_dsse},
    {"intoto", "0.0.2", EntryOf::Envelope, fits_intoto},
};

Status is_about(const Signed& is, const oci::LogEntry& entry) {
  const Result<Value> body = encoding::parse_json(
      entry.body, {.strict = true, .max_depth = kEntryDepth, .max_values = kMostEntryValues});
  if (!body || !body->is_object()) return refused("the body of its log entry is not a JSON object");
  const std::string_view kind = body->string_at("kind");
  const std::string_view version = body->string_at("apiVersion");
  const bool is_envelope = !is.claim.payload.empty();
  const EntryOf other = is_envelope ? EntryOf::Message : EntryOf::Envelope;
  const auto* const known = std::ranges::find_if(kEntryKinds, [&](const EntryKind& each) {
    return each.kind == kind && each.version == version && each.of != other;
  });
  const Value* const spec = body->find("spec");
  if (known == std::end(kEntryKinds) || spec == nullptr)
    return refused(fmt::format("its log entry is of a kind that is not for {}",
                               is_envelope ? "envelopes" : "payloads of cosign's"),
                   fmt::format("it is {} {}", shown(kind), shown(version)));
  return known->fits(is, *spec);
}

// RFC 6962, section 2.1; RFC 9162, section 2.1.3.2.
bool leads_to_root(const oci::LogEntry& entry) {
  const oci::InclusionProof& proof = *entry.inclusion;
  if (proof.index >= proof.tree_size) return false;
  const auto inner = [](std::string_view left, std::string_view right) {
    return crypto::sha256(fmt::format("\x01{}{}", left, right)).raw();
  };
  std::string node = crypto::sha256(std::string(1, '\0') + entry.body).raw();
  auto at = static_cast<std::uint64_t>(proof.index);
  auto last = static_cast<std::uint64_t>(proof.tree_size) - 1;
  for (const std::string& hash : proof.hashes) {
    if (last == 0) return false;
    if ((at & 1) != 0 || at == last) {
      node = inner(hash, node);
      while ((at & 1) == 0 && at != 0) {
        at >>= 1;
        last >>= 1;
      }
    } else {
      node = inner(node, hash);
    }
    at >>= 1;
    last >>= 1;
  }
  return last == 0 && node == proof.root;
}

// A checkpoint: the log's name, the number of entries, the root in base64; then signatures of that.
Status checkpoint_holds(const oci::InclusionProof& proof, const TrustedLog& log) {
  const std::string_view note = proof.checkpoint;
  const std::size_t end = note.find("\n\n");
  if (end == std::string_view::npos) return refused("the checkpoint of its log entry can't be read");
  const std::string_view text = note.substr(0, end + 1);
  const std::vector<std::string_view> lines = split(text, '\n');
  std::string root;
  std::int64_t size = -1;
  if (lines.size() >= 3) {
    const std::string_view number = lines[1];
    const auto [rest, problem] = std::from_chars(number.data(), number.data() + number.size(), size);
    if (problem != std::errc() || rest != number.data() + number.size()) size = -1;
  }
  if (size < 0 || !base64_decode(lines[2], root))
    return refused("the checkpoint of its log entry can't be read");
  if (size != proof.tree_size || root != proof.root)
    return refused("the checkpoint of its log entry is of another tree");
  constexpr std::string_view kDash = "\u2014 ";
  constexpr std::size_t kHint = 4;
  std::vector<std::string_view> signatures = split(note.substr(end + 2), '\n');
  if (signatures.size() > kMostNoteSignatures) signatures.resize(kMostNoteSignatures);
  for (const std::string_view line : signatures) {
    std::string signature;
    if (line.starts_with(kDash) && base64_decode(line.substr(line.rfind(' ') + 1), signature) &&
        signature.size() > kHint && log.key.verify(text, std::string_view(signature).substr(kHint)))
      return {};
  }
  return refused("the checkpoint of its log entry is not signed by the log");
}

// The log signs the JSON of RFC 8785.
Status promise_holds(const oci::LogEntry& entry, const TrustedLog& log) {
  const std::string message = encoding::to_json(Value::object({{"body", base64_encode(entry.body)},
                                                               {"integratedTime", entry.integrated_time},
                                                               {"logID", hex_of(entry.log_id)},
                                                               {"logIndex", entry.index}}));
  if (log.key.verify(message, entry.promise)) return {};
  return refused("the log's promise for its entry is not valid");
}

WallTime time_of(const oci::LogEntry& entry) { return WallTime(std::chrono::seconds(entry.integrated_time)); }

// Gives the time that the log signed; nothing: it only has the entry. `otherwise`: the times that authorities
// signed.
Result<std::optional<WallTime>> entry_holds(const Signed& is, const oci::LogEntry& entry,
                                            const TrustRoot& root, std::span<const WallTime> otherwise) {
  const auto log = std::ranges::find(root.logs, entry.log_id, &TrustedLog::id);
  if (log == root.logs.end())
    return refused("its log entry is of a log that the trust root doesn't have",
                   fmt::format("the log is {}", hex_of(entry.log_id.substr(0, crypto::Digest::kSize))));
  std::optional<WallTime> at;
  if (!entry.promise.empty()) {
    MIST_TRY_VOID(promise_holds(entry, *log));
    at = time_of(entry);
  } else if (!entry.inclusion) {
    return refused("its log entry has neither a promise nor a proof of the log");
  }
  if (entry.inclusion) {
    if (!leads_to_root(entry)) return refused("the proof of its log entry leads to another tree");
    MIST_TRY_VOID(checkpoint_holds(*entry.inclusion, *log));
  }
  if (at && !log->period.holds(*at))
    return refused(fmt::format("its log was not trusted at {}", format_time(*at)), "the trust root says so");
  for (const WallTime each : otherwise)
    if (!at && !log->period.holds(each))
      return refused(fmt::format("its log was not trusted at {}", format_time(each)),
                     "the trust root says so");
  MIST_TRY_VOID(is_about(is, entry));
  return at;
}

// When authorities saw the signature. Where the trust root has none, timestamps say nothing.
Result<std::vector<WallTime>> stamped(const oci::SignatureClaim& claim, const TrustRoot& root) {
  std::vector<WallTime> times;
  if (root.timestamp_authorities.empty()) return times;
  for (const std::string& token : claim.keyless->timestamps) {
    std::string because;
    bool is_known = false;
    for (const TrustedAuthority& each : root.timestamp_authorities) {
      const Result<WallTime> at = crypto::check_timestamp(token, claim.signature, each.chain);
      if (at && each.period.holds(*at)) {
        times.push_back(*at);
        is_known = true;
        break;
      }
      because =
          at ? fmt::format("its authority was not trusted at {}", format_time(*at)) : at.error().because;
    }
    if (!is_known) return refused("its timestamp is of no authority of the trust root", std::move(because));
  }
  return times;
}

// The times at which the certificate must have been valid.
Result<std::vector<WallTime>> proved_times(const Signed& is, const TrustRoot& root) {
  const oci::KeylessClaim& keyless = *is.claim.keyless;
  if (keyless.entries.empty()) return refused("it has no entry of a transparency log");
  MIST_TRY(std::vector<WallTime> times, stamped(is.claim, root));
  std::vector<WallTime> logged;
  for (const oci::LogEntry& entry : keyless.entries) {
    MIST_TRY(const std::optional<WallTime> at, entry_holds(is, entry, root, times));
    if (at) logged.push_back(*at);
  }
  times.insert(times.begin(), logged.begin(), logged.end());
  if (times.empty())
    return refused("nothing proves when it was made", "it has neither a promise of the log nor a timestamp");
  return times;
}

// Gives the public key of the issuer. An authority whose own issuers the trust root names has no others: one
// that it named before, or no longer for that time, could come back in a chain that the signature brings.
Result<std::string> issued_at(std::string_view certificate, std::span<const std::string> between,
                              const TrustRoot& root, WallTime at) {
  std::string because;
  for (const TrustedAuthority& each : root.authorities) {
    if (!each.period.holds(at)) {
      if (because.empty()) because = fmt::format("an authority was not trusted at {}", format_time(at));
      continue;
    }
    const bool names_issuers = each.chain.size() > 1;
    Result<std::string> issuer = crypto::check_chain(
        certificate, names_issuers ? std::span<const std::string>() : between, each.chain, at);
    if (issuer) return issuer;
    because = issuer.error().because;
  }
  return refused("its certificate is of no authority of the trust root", std::move(because));
}

Status promised(const crypto::SigningCertificate& certificate, const TrustRoot& root,
                std::string_view issuer_key) {
  if (root.certificate_logs.empty()) return {};
  const std::vector<crypto::CertificatePromise> promises =
      crypto::certificate_promises(certificate.der, issuer_key);
  if (promises.empty()) return refused("its certificate has no promise of a log of certificates");
  std::string because;
  for (const crypto::CertificatePromise& each : promises)
    for (const TrustedLog& log : root.certificate_logs) {
      if (log.id != each.log_id || !log.key.verify(each.message, each.signature)) continue;
      // With the key of a log that has ended, the promise could say any time; the certificate's is its
      // authority's word.
      const WallTime at = log.period.holds(each.at) ? certificate.not_before : each.at;
      if (log.period.holds(at)) return {};
      because = fmt::format("a log was not trusted at {}", format_time(at));
    }
  return refused("no promise in its certificate is of a log of certificates in the trust root",
                 std::move(because));
}

// Without spaces, so that one text can name both; no controls, which a terminal would obey.
bool is_plain(std::string_view text) {
  return !text.empty() && text.size() <= kMostIdentityBytes &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c != '\x7f'; });
}

Result<Identity> identity_in(const crypto::SigningCertificate& certificate) {
  if (certificate.issuer.empty())
    return refused("its certificate doesn't say where its owner logged in",
                   "the extension 1.3.6.1.4.1.57264.1.8 is missing");
  if (certificate.names.size() != 1)
    return refused("its certificate doesn't name exactly one owner",
                   fmt::format("it has {} URIs and e-mail addresses", certificate.names.size()));
  if (!is_plain(certificate.issuer) || !is_plain(certificate.names.front()))
    return refused("its certificate names its owner with characters that no identity has");
  return Identity{certificate.issuer, certificate.names.front()};
}

// `issuer_key`: of the certificate that issued it.
Result<Identity> owner_of(const crypto::SigningCertificate& certificate, const TrustRoot& root,
                          std::string_view issuer_key) {
  if (!certificate.signs_code) return refused("its certificate is not for signing code");
  MIST_TRY_VOID(promised(certificate, root, issuer_key));
  return identity_in(certificate);
}

}  // namespace

Result<Identity> verify_certificate(const crypto::SigningCertificate& certificate,
                                    std::span<const std::string> between, const TrustRoot& root,
                                    WallTime at) {
  MIST_TRY(const std::string issuer_key, issued_at(certificate.der, between, root, at));
  return owner_of(certificate, root, issuer_key);
}

Result<KeylessProof> verify_keyless(const oci::SignatureClaim& claim, const TrustRoot& root) {
  MIST_CHECK(claim.keyless.has_value());
  if (!claim.keyless->damage.empty()) return refused(claim.keyless->damage);
  MIST_TRY(const crypto::SigningCertificate certificate,
           crypto::SigningCertificate::parse(claim.keyless->certificate));
  if (!certificate.key.verify(claim.message, claim.signature))
    return refused("it is not valid for the key of its certificate");
  const Signed is{claim, certificate.der};
  MIST_TRY(const std::vector<WallTime> times, proved_times(is, root));
  std::string issuer_key;
  for (const WallTime at : times) {
    if (at < certificate.not_before || at > certificate.not_after)
      return refused(fmt::format("its certificate was not valid at {}, when it was made", format_time(at)),
                     fmt::format("it was from {} to {}", format_time(certificate.not_before),
                                 format_time(certificate.not_after)));
    MIST_TRY(issuer_key, issued_at(certificate.der, claim.keyless->chain, root, at));
  }
  MIST_TRY(Identity identity, owner_of(certificate, root, issuer_key));
  return KeylessProof{std::move(identity), certificate.key.kind(), times.front()};
}

}  // namespace mist::trust
