#include "testing/sigstore.h"

#include <openssl/asn1.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include <openssl/ts.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>

#include "base/handle.h"
#include "base/text.h"
#include "crypto/keys.h"
#include "encoding/json.h"

namespace mist::testing {
namespace {

using encoding::Value;

using KeyPtr = Handle<EVP_PKEY, &EVP_PKEY_free>;
using CertPtr = Handle<X509, &X509_free>;
using RequestPtr = Handle<X509_REQ, &X509_REQ_free>;
using BioPtr = Handle<BIO, &BIO_free_all>;
using ExtensionPtr = Handle<X509_EXTENSION, &X509_EXTENSION_free>;
using BytesPtr = Handle<ASN1_OCTET_STRING, &ASN1_OCTET_STRING_free>;
using ObjectPtr = Handle<ASN1_OBJECT, &ASN1_OBJECT_free>;
using StampContext = Handle<TS_RESP_CTX, &TS_RESP_CTX_free>;
using StampResponse = Handle<TS_RESP, &TS_RESP_free>;
using StampRequest = Handle<TS_REQ, &TS_REQ_free>;
using StampImprint = Handle<TS_MSG_IMPRINT, &TS_MSG_IMPRINT_free>;
using AlgorithmPtr = Handle<X509_ALGOR, &X509_ALGOR_free>;

constexpr std::string_view kInToto = "application/vnd.in-toto+json";
const WallTime kBegin{std::chrono::seconds(1'600'000'000)};
constexpr auto kLongLife = std::chrono::hours(24 * 365 * 20);

struct Pair {
  crypto::PrivateKey key;
  KeyPtr handle;
};

std::string pem_of_seed(unsigned char seed) {
  std::array<std::byte, crypto::kKeyBytes> bytes{};
  bytes.fill(std::byte{seed});
  return crypto::p256_key(bytes)->private_pem;
}

Pair pair_of(unsigned char seed) {
  const std::string pem = pem_of_seed(seed);
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return {*crypto::PrivateKey::parse(pem),
          KeyPtr(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr))};
}

template <typename T>
std::string encoded(const T* object, int (*encode)(const T*, unsigned char**)) {
  unsigned char* der = nullptr;
  const int size = encode(object, &der);
  MIST_CHECK(size > 0);
  std::string text(reinterpret_cast<char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return text;
}

std::string spki(const crypto::PublicKey& key) {
  std::string der;
  std::string text;
  const std::string pem = key.pem();
  for (const std::string_view line : split(pem, '\n'))
    if (!line.starts_with('-')) text += line;
  MIST_CHECK(base64_decode(text, der));
  return der;
}

void add_extension(X509* certificate, int nid, const std::string& value, bool is_critical = false) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  MIST_CHECK(extension != nullptr);
  X509_EXTENSION_set_critical(extension.get(), is_critical ? 1 : 0);
  MIST_CHECK(X509_add_ext(certificate, extension.get(), -1) == 1);
}

void add_bytes(X509* certificate, const char* id, std::string_view value) {
  const ObjectPtr object(OBJ_txt2obj(id, 1));
  const BytesPtr bytes(ASN1_OCTET_STRING_new());
  ASN1_OCTET_STRING_set(bytes.get(), reinterpret_cast<const unsigned char*>(value.data()),
                        static_cast<int>(value.size()));
  const ExtensionPtr extension(X509_EXTENSION_create_by_OBJ(nullptr, object.get(), 0, bytes.get()));
  MIST_CHECK(X509_add_ext(certificate, extension.get(), -1) == 1);
}

// A certificate that nobody has signed yet.
CertPtr drafted(const char* name, EVP_PKEY* key, const X509* issuer, WallTime from, Duration life) {
  CertPtr certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 7);
  const std::time_t begin = std::chrono::system_clock::to_time_t(from);
  ASN1_TIME_set(X509_getm_notBefore(certificate.get()), begin);
  ASN1_TIME_set(X509_getm_notAfter(certificate.get()),
                begin + std::chrono::duration_cast<std::chrono::seconds>(life).count());
  X509_set_pubkey(certificate.get(), key);
  if (name != nullptr)
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  X509_set_issuer_name(certificate.get(),
                       X509_get_subject_name(issuer != nullptr ? issuer : certificate.get()));
  return certificate;
}

void sign(X509* certificate, EVP_PKEY* key) { MIST_CHECK(X509_sign(certificate, key, EVP_sha256()) > 0); }

std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  return text;
}

std::string tree_hash(std::string_view left, std::string_view right) {
  return crypto::sha256(fmt::format("\x01{}{}", left, right)).raw();
}
std::string leaf_hash(std::string_view body) {
  return crypto::sha256(std::string(1, '\0') + std::string(body)).raw();
}

std::int64_t seconds_of(WallTime at) { return std::chrono::system_clock::to_time_t(at); }

Value period(WallTime from) { return Value::object({{"start", format_time(from)}}); }

std::string log_id(const crypto::PrivateKey& key) { return key.public_key().fingerprint().raw(); }

Value log_value(const crypto::PrivateKey& key) {
  return Value::object({{"baseUrl", "https://log.example"},
                        {"hashAlgorithm", "SHA2_256"},
                        {"publicKey", Value::object({{"rawBytes", base64_encode(spki(key.public_key()))},
                                                     {"keyDetails", "PKIX_ECDSA_P256_SHA_256"},
                                                     {"validFor", period(kBegin)}})},
                        {"logId", Value::object({{"keyId", base64_encode(log_id(key))}})}});
}

Value authority_value(std::initializer_list<const X509*> chain) {
  Value certificates{Value::Array{}};
  for (const X509* each : chain)
    certificates.push_back(Value::object({{"rawBytes", base64_encode(encoded(each, &i2d_X509))}}));
  return Value::object({{"uri", "https://ca.example"},
                        {"certChain", Value::object({{"certificates", std::move(certificates)}})},
                        {"validFor", period(kBegin)}});
}

Value body(std::string_view kind, std::string_view version, Value spec) {
  return Value::object({{"apiVersion", version}, {"kind", kind}, {"spec", std::move(spec)}});
}

std::string certificate_pem(std::string_view der) {
  return fmt::format("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", base64_encode(der));
}

Value hash_value(std::string_view bytes) {
  return Value::object({{"algorithm", "sha256"}, {"value", crypto::sha256(bytes).hex()}});
}

}  // namespace

struct Sigstore::Impl {
  Pair root_key, middle_key, log_key, ct_key, stamp_key;
  CertPtr root, middle, stamper, next_middle, next_stamper;

  explicit Impl(unsigned char seed)
      : root_key(pair_of(seed)),
        middle_key(pair_of(seed + 1)),
        log_key(pair_of(seed + 2)),
        ct_key(pair_of(seed + 3)),
        stamp_key(pair_of(seed + 4)),
        root(drafted("root", root_key.handle.get(), nullptr, kBegin, kLongLife)),
        middle(drafted("middle", middle_key.handle.get(), root.get(), kBegin, kLongLife)),
        stamper(drafted("stamper", stamp_key.handle.get(), root.get(), kBegin, kLongLife)),
        next_middle(drafted("next middle", pair_of(seed + 5).handle.get(), root.get(), kBegin, kLongLife)),
        next_stamper(drafted("next stamper", pair_of(seed + 6).handle.get(), root.get(), kBegin, kLongLife)) {
    // Signers of timestamps are found by issuer and number.
    ASN1_INTEGER_set(X509_get_serialNumber(stamper.get()), 8);
    ASN1_INTEGER_set(X509_get_serialNumber(next_stamper.get()), 9);
    for (X509* each : {root.get(), middle.get(), next_middle.get()}) {
      add_extension(each, NID_basic_constraints, "CA:TRUE", true);
      add_extension(each, NID_key_usage, "keyCertSign,cRLSign", true);
    }
    for (X509* each : {stamper.get(), next_stamper.get()}) {
      add_extension(each, NID_key_usage, "digitalSignature", true);
      add_extension(each, NID_ext_key_usage, "timeStamping", true);
    }
    for (X509* each : {root.get(), middle.get(), stamper.get(), next_middle.get(), next_stamper.get()})
      sign(each, root_key.handle.get());
  }

  std::string certificate(const CertificateRequest& request, EVP_PKEY* key) const;

  std::string promise(std::string_view payload, WallTime at) const {
    return log_key.key.sign(
        encoding::to_json(Value::object({{"body", base64_encode(payload)},
                                         {"integratedTime", seconds_of(at)},
                                         {"logID", log_key.key.public_key().fingerprint().hex()},
                                         {"logIndex", 1002}})));
  }
};

Sigstore::Sigstore(unsigned char seed) : impl_(std::make_unique<Impl>(seed)) {}
Sigstore::~Sigstore() = default;

Value Sigstore::trusted_root(Parts parts) const {
  const auto list = [](Value item) { return Value::array({std::move(item)}); };
  const bool is_renewed = parts == Parts::Renewed;
  const X509* const issuer = is_renewed ? impl_->next_middle.get() : impl_->middle.get();
  const X509* const stamper = is_renewed ? impl_->next_stamper.get() : impl_->stamper.get();
  Value root =
      Value::object({{"mediaType", "application/vnd.dev.sigstore.trustedroot+json;version=0.1"},
                     {"tlogs", list(log_value(impl_->log_key.key))},
                     {"certificateAuthorities", list(authority_value({issuer, impl_->root.get()}))}});
  if (parts != Parts::Basic) {
    root.set("ctlogs", list(log_value(impl_->ct_key.key)));
    root.set("timestampAuthorities", list(authority_value({stamper, impl_->root.get()})));
  }
  return root;
}

IssuedCertificate Sigstore::issue(const CertificateRequest& request) const {
  const Pair pair = pair_of(99);
  std::string der = impl_->certificate(request, pair.handle.get());
  const std::string pem = certificate_pem(der);
  return {pair.key, std::move(der), pem};
}

std::string Sigstore::certify(const CertificateRequest& request,
                              std::string_view certification_request) const {
  const BioPtr bio(
      BIO_new_mem_buf(certification_request.data(), static_cast<int>(certification_request.size())));
  const RequestPtr asked(PEM_read_bio_X509_REQ(bio.get(), nullptr, nullptr, nullptr));
  MIST_CHECK(asked != nullptr);
  const KeyPtr key(X509_REQ_get_pubkey(asked.get()));
  MIST_CHECK(X509_REQ_verify(asked.get(), key.get()) == 1);
  return certificate_pem(impl_->certificate(request, key.get()));
}

std::string Sigstore::Impl::certificate(const CertificateRequest& request, EVP_PKEY* key) const {
  const CertPtr certificate = drafted(nullptr, key, middle.get(), request.from, request.life);
  X509* const at = certificate.get();
  add_extension(at, NID_key_usage, "digitalSignature", true);
  if (!request.usage.empty()) add_extension(at, NID_ext_key_usage, request.usage);
  add_extension(at, NID_subject_alt_name, request.subject, true);
  if (request.issuer_form == CertificateRequest::Issuer::Text)
    add_bytes(at, "1.3.6.1.4.1.57264.1.8", "\x0c" + number(request.issuer.size(), 1) + request.issuer);
  if (request.issuer_form == CertificateRequest::Issuer::Raw)
    add_bytes(at, "1.3.6.1.4.1.57264.1.1", request.issuer);
  sign(at, middle_key.handle.get());
  if (request.promise != CertificateRequest::Promise::None) {
    unsigned char* der = nullptr;
    const int size = i2d_re_X509_tbs(at, &der);
    const std::string tbs(reinterpret_cast<char*>(der), static_cast<std::size_t>(size));
    OPENSSL_free(der);
    const auto milliseconds =
        static_cast<std::uint64_t>(seconds_of(request.from - request.promised_before)) * 1000;
    const std::string message = std::string(2, '\0') + number(milliseconds, 8) + number(1, 2) +
                                middle_key.key.public_key().fingerprint().raw() + number(tbs.size(), 3) +
                                tbs + number(0, 2);
    const std::string signature =
        ct_key.key.sign(request.promise == CertificateRequest::Promise::Good ? message : message + "x");
    // ECDSA with SHA-256 (RFC 5246, section 7.4.1.4.1).
    const std::string promise = std::string(1, '\0') + log_id(ct_key.key) + number(milliseconds, 8) +
                                number(0, 2) + "\x04\x03" + number(signature.size(), 2) + signature;
    const std::string list = number(promise.size() + 2, 2) + number(promise.size(), 2) + promise;
    add_bytes(at, "1.3.6.1.4.1.11129.2.4.2",
              "\x04" + (list.size() < 128 ? number(list.size(), 1) : "\x81" + number(list.size(), 1)) + list);
    sign(at, middle_key.handle.get());
  }
  return encoded<X509>(at, &i2d_X509);
}

std::string Sigstore::hashedrekord(std::string_view message, std::string_view signature,
                                   const IssuedCertificate& by) {
  return encoding::to_json(
      body("hashedrekord", "0.0.1",
           Value::object(
               {{"data", Value::object({{"hash", hash_value(message)}})},
                {"signature",
                 Value::object({{"content", base64_encode(signature)},
                                {"publicKey", Value::object({{"content", base64_encode(by.pem)}})}})}})));
}

std::string Sigstore::hashedrekord_2(std::string_view message, std::string_view signature,
                                     std::string_view certificate) {
  const Value verifier =
      Value::object({{"keyDetails", "PKIX_ECDSA_P256_SHA_256"},
                     {"x509Certificate", Value::object({{"rawBytes", base64_encode(certificate)}})}});
  return encoding::to_json(
      body("hashedrekord", "0.0.2",
           Value::object(
               {{"hashedRekordV002",
                 Value::object(
                     {{"data", Value::object({{"algorithm", "SHA2_256"},
                                              {"digest", base64_encode(crypto::sha256(message).raw())}})},
                      {"signature",
                       Value::object({{"content", base64_encode(signature)}, {"verifier", verifier}})}})}})));
}

std::string Sigstore::dsse(std::string_view payload, std::string_view signature,
                           const IssuedCertificate& by) {
  return encoding::to_json(body(
      "dsse", "0.0.1",
      Value::object({{"envelopeHash", hash_value("envelope")},
                     {"payloadHash", hash_value(payload)},
                     {"signatures", Value::array({Value::object({{"signature", base64_encode(signature)},
                                                                 {"verifier", base64_encode(by.pem)}})})}})));
}

std::string Sigstore::intoto(std::string_view payload, std::string_view signature,
                             const IssuedCertificate& by) {
  Value signatures = Value::array({Value::object(
      {{"publicKey", base64_encode(by.pem)}, {"sig", base64_encode(base64_encode(signature))}})});
  return encoding::to_json(body(
      "intoto", "0.0.2",
      Value::object(
          {{"content", Value::object({{"envelope", Value::object({{"payloadType", kInToto},
                                                                  {"signatures", std::move(signatures)}})},
                                      {"hash", hash_value("envelope")},
                                      {"payloadHash", hash_value(payload)}})}})));
}

oci::Annotations Sigstore::sign_layer(std::string_view payload, const IssuedCertificate& by,
                                      WallTime at) const {
  const std::string signature = by.key.sign(payload);
  const std::string logged = hashedrekord(payload, signature, by);
  const Value entry = Value::object(
      {{"SignedEntryTimestamp", base64_encode(impl_->promise(logged, at))},
       {"Payload", Value::object({{"body", base64_encode(logged)},
                                  {"integratedTime", seconds_of(at)},
                                  {"logIndex", 1002},
                                  {"logID", impl_->log_key.key.public_key().fingerprint().hex()}})}});
  return {{"dev.cosignproject.cosign/signature", base64_encode(signature)},
          {"dev.sigstore.cosign/certificate", by.pem},
          {"dev.sigstore.cosign/bundle", encoding::to_json(entry)}};
}

Value Sigstore::entry(std::string_view logged, WallTime at) const {
  // The third of five: its neighbour, the pair before, and the last one alone.
  const std::string neighbour = leaf_hash("d");
  const std::string before = tree_hash(leaf_hash("a"), leaf_hash("b"));
  const std::string last = leaf_hash("e");
  const std::string root = tree_hash(tree_hash(before, tree_hash(leaf_hash(logged), neighbour)), last);
  const std::string note = fmt::format("log.example - 1\n5\n{}\n", base64_encode(root));
  const std::string& id = log_id(impl_->log_key.key);
  const std::string checkpoint = fmt::format("{}\n— log.example {}\n", note,
                                             base64_encode(id.substr(0, 4) + impl_->log_key.key.sign(note)));
  Value hashes{Value::Array{}};
  for (const std::string& each : {neighbour, before, last}) hashes.push_back(base64_encode(each));
  return Value::object(
      {{"logIndex", "1002"},
       {"logId", Value::object({{"keyId", base64_encode(id)}})},
       {"integratedTime", std::to_string(seconds_of(at))},
       {"inclusionPromise",
        Value::object({{"signedEntryTimestamp", base64_encode(impl_->promise(logged, at))}})},
       {"inclusionProof", Value::object({{"logIndex", "2"},
                                         {"treeSize", "5"},
                                         {"rootHash", base64_encode(root)},
                                         {"hashes", std::move(hashes)},
                                         {"checkpoint", Value::object({{"envelope", checkpoint}})}})},
       {"canonicalizedBody", base64_encode(logged)}});
}

Value Sigstore::sign_statement(std::string_view statement, const IssuedCertificate& by, WallTime at) const {
  const std::string signature = by.key.sign(envelope_message(statement));
  return Value::object(
      {{"mediaType", "application/vnd.dev.sigstore.bundle.v0.3+json"},
       {"verificationMaterial",
        Value::object({{"certificate", Value::object({{"rawBytes", base64_encode(by.der)}})},
                       {"tlogEntries", Value::array({entry(dsse(statement, signature, by), at)})}})},
       {"dsseEnvelope",
        Value::object(
            {{"payload", base64_encode(statement)},
             {"payloadType", kInToto},
             {"signatures", Value::array({Value::object({{"sig", base64_encode(signature)}})})}})}});
}

std::string Sigstore::stamp(std::string_view request, WallTime at) const {
  const StampContext context(TS_RESP_CTX_new());
  const ObjectPtr policy(OBJ_txt2obj("1.2.3.4.1", 1));
  std::time_t seconds = seconds_of(at);
  TS_RESP_CTX_set_signer_cert(context.get(), impl_->stamper.get());
  TS_RESP_CTX_set_signer_key(context.get(), impl_->stamp_key.handle.get());
  TS_RESP_CTX_set_signer_digest(context.get(), EVP_sha256());
  TS_RESP_CTX_set_def_policy(context.get(), policy.get());
  TS_RESP_CTX_add_md(context.get(), EVP_sha256());
  TS_RESP_CTX_set_serial_cb(
      context.get(),
      [](TS_RESP_CTX*, void*) {
        ASN1_INTEGER* const serial = ASN1_INTEGER_new();
        ASN1_INTEGER_set(serial, 1);
        return serial;
      },
      nullptr);
  TS_RESP_CTX_set_time_cb(
      context.get(),
      [](TS_RESP_CTX*, void* given, long* out, long* microseconds) {
        *out = static_cast<long>(*static_cast<std::time_t*>(given));
        *microseconds = 0;
        return 1;
      },
      &seconds);
  const BioPtr bio(BIO_new_mem_buf(request.data(), static_cast<int>(request.size())));
  const StampResponse response(TS_RESP_create_response(context.get(), bio.get()));
  MIST_CHECK(response != nullptr);
  return encoded<TS_RESP>(response.get(), &i2d_TS_RESP);
}

std::string Sigstore::timestamp(std::string_view message, WallTime at) const {
  const StampRequest request(TS_REQ_new());
  const StampImprint imprint(TS_MSG_IMPRINT_new());
  const AlgorithmPtr algorithm(X509_ALGOR_new());
  X509_ALGOR_set_md(algorithm.get(), EVP_sha256());
  const crypto::Digest digest = crypto::sha256(message);
  TS_REQ_set_version(request.get(), 1);
  TS_MSG_IMPRINT_set_algo(imprint.get(), algorithm.get());
  std::string raw = digest.raw();
  TS_MSG_IMPRINT_set_msg(imprint.get(), reinterpret_cast<unsigned char*>(raw.data()),
                         static_cast<int>(raw.size()));
  TS_REQ_set_msg_imprint(request.get(), imprint.get());
  TS_REQ_set_cert_req(request.get(), 1);
  return stamp(encoded<TS_REQ>(request.get(), &i2d_TS_REQ), at);
}

std::string envelope_message(std::string_view statement) {
  return fmt::format("DSSEv1 {} {} {} {}", kInToto.size(), kInToto, statement.size(), statement);
}

}  // namespace mist::testing
