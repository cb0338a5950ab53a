#include "crypto/signing_certificate.h"

#include <openssl/ct.h>
#include <openssl/err.h>
#include <openssl/objects.h>
#include <openssl/ts.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <limits>
#include <optional>

#include "base/handle.h"
#include "base/text.h"
#include "base/utc_time.h"

namespace mist::crypto {
namespace {

constexpr std::size_t kMostCertificateBytes = 64 << 10;
constexpr std::size_t kMostBlocks = 20;
constexpr int kMostPromises = 20;
// In milliseconds: a later one is no time here.
constexpr auto kLatestPromise = static_cast<std::uint64_t>(
    std::chrono::floor<std::chrono::milliseconds>(WallTime::max().time_since_epoch()).count());
// 112 bits: RSA of 2048, no SHA-1.
constexpr int kSecurityLevel = 2;
constexpr const char* kIssuerExtension = "1.3.6.1.4.1.57264.1.8";
constexpr const char* kRawIssuerExtension = "1.3.6.1.4.1.57264.1.1";

void free_certificates(STACK_OF(X509) * stack) { sk_X509_pop_free(stack, &X509_free); }
void free_stack(STACK_OF(X509) * stack) { sk_X509_free(stack); }

using X509Owner = Handle<X509, &X509_free>;
using X509Stack = Handle<STACK_OF(X509), &free_certificates>;
using X509Trust = Handle<X509_STORE, &X509_STORE_free>;
using X509Check = Handle<X509_STORE_CTX, &X509_STORE_CTX_free>;
using NamesOwner = Handle<GENERAL_NAMES, &GENERAL_NAMES_free>;
using ObjectOwner = Handle<ASN1_OBJECT, &ASN1_OBJECT_free>;
using Utf8Owner = Handle<ASN1_UTF8STRING, &ASN1_UTF8STRING_free>;
using PromisesOwner = Handle<STACK_OF(SCT), &SCT_LIST_free>;
using ResponseOwner = Handle<TS_RESP, &TS_RESP_free>;
using TimestampCheck = Handle<TS_VERIFY_CTX, &TS_VERIFY_CTX_free>;
using BorrowedStack = Handle<STACK_OF(X509), &free_stack>;

const unsigned char* start_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
std::string text_from(const unsigned char* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}
std::string text_from(const ASN1_STRING* text) {
  return text_from(ASN1_STRING_get0_data(text), static_cast<std::size_t>(ASN1_STRING_length(text)));
}

// All of `der`, or null.
X509Owner certificate_in(std::string_view der) {
  const unsigned char* at = start_of(der);
  X509Owner certificate(
      der.size() > kMostCertificateBytes ? nullptr : d2i_X509(nullptr, &at, static_cast<long>(der.size())));
  if (certificate != nullptr && at != start_of(der) + der.size()) certificate.reset();
  if (certificate == nullptr) ERR_clear_error();
  return certificate;
}

std::optional<WallTime> wall_time(const ASN1_TIME* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
  return utc_time(parts);
}

template <typename T>
std::string der_of(const T* object, int (*encode)(const T*, unsigned char**)) {
  unsigned char* der = nullptr;
  const int size = encode(object, &der);
  if (size <= 0) {
    ERR_clear_error();
    return {};
  }
  std::string text = text_from(der, static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return text;
}

std::string key_der(const X509* certificate) {
  return der_of<X509_PUBKEY>(X509_get_X509_PUBKEY(certificate), &i2d_X509_PUBKEY);
}

// The bytes of the extension; nothing: it isn't there, or twice.
std::optional<std::string> extension(const X509* certificate, const char* id) {
  const ObjectOwner object(OBJ_txt2obj(id, 1));
  MIST_CHECK(object != nullptr);
  const int at = X509_get_ext_by_OBJ(certificate, object.get(), -1);
  if (at < 0 || X509_get_ext_by_OBJ(certificate, object.get(), at) >= 0) return std::nullopt;
  return text_from(X509_EXTENSION_get_data(X509_get_ext(certificate, at)));
}

std::string issuer_in(const X509* certificate) {
  if (const std::optional<std::string> der = extension(certificate, kIssuerExtension)) {
    const unsigned char* at = start_of(*der);
    const Utf8Owner text(d2i_ASN1_UTF8STRING(nullptr, &at, static_cast<long>(der->size())));
    if (text != nullptr && at == start_of(*der) + der->size()) return text_from(text.get());
    ERR_clear_error();
    return {};
  }
  return extension(certificate, kRawIssuerExtension).value_or("");
}

std::vector<std::string> names_in(const X509* certificate) {
  std::vector<std::string> found;
  const NamesOwner names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_URI || name->type == GEN_EMAIL) found.push_back(text_from(name->d.ia5));
  }
  ERR_clear_error();
  return found;
}

// Takes all as they are; false: one is no certificate.
bool add_to(STACK_OF(X509) * stack, std::span<const std::string> certificates) {
  for (const std::string& der : certificates) {
    X509Owner each = certificate_in(der);
    if (each == nullptr) return false;
    MIST_CHECK(sk_X509_push(stack, each.get()) > 0);
    static_cast<void>(each.release());
  }
  return true;
}

// Trusts the last of them.
X509Trust trusting(std::span<const std::string> authority) {
  X509Trust store(X509_STORE_new());
  MIST_CHECK(store != nullptr);
  const X509Owner root = authority.empty() ? X509Owner() : certificate_in(authority.back());
  if (root == nullptr || X509_STORE_add_cert(store.get(), root.get()) != 1) return nullptr;
  return store;
}

// At that time, wherever the trusted certificate stands in its own chain.
void set_terms(X509_VERIFY_PARAM* terms, WallTime at) {
  X509_VERIFY_PARAM_set_time(terms, std::chrono::system_clock::to_time_t(at));
  X509_VERIFY_PARAM_set_flags(terms, X509_V_FLAG_PARTIAL_CHAIN);
  X509_VERIFY_PARAM_set_auth_level(terms, kSecurityLevel);
}

std::string last_reason() {
  const unsigned long code = ERR_peek_last_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  std::string text = reason == nullptr ? "it is damaged" : reason;
  ERR_clear_error();
  return text;
}

void put_number(std::string& out, std::uint64_t number, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) out.push_back(static_cast<char>(number >> (8 * i) & 0xff));
}

}  // namespace

Result<SigningCertificate> SigningCertificate::parse(std::string_view der) {
  const auto objected = [](std::string_view why) {
    return error(ErrorKind::Invalid, "its certificate can't be read").with_because(std::string(why));
  };
  const X509Owner certificate = certificate_in(der);
  if (certificate == nullptr) return objected("it is no X.509 certificate");
  const auto begins = wall_time(X509_get0_notBefore(certificate.get()));
  const auto ends = wall_time(X509_get0_notAfter(certificate.get()));
  if (!begins || !ends) return objected("it doesn't say how long it is valid");
  Result<PublicKey> key = PublicKey::from_der(key_der(certificate.get()));
  if (!key) return objected("its key is of a kind that signs nothing here");
  const std::uint32_t usage = X509_get_extended_key_usage(certificate.get());
  ERR_clear_error();
  return SigningCertificate{
      .der = std::string(der),
      .key = *std::move(key),
      .not_before = *begins,
      .not_after = *ends,
      .signs_code = usage != std::numeric_limits<std::uint32_t>::max() && (usage & XKU_CODE_SIGN) != 0,
      .names = names_in(certificate.get()),
      .issuer = issuer_in(certificate.get())};
}

std::vector<std::string> certificate_blocks(std::string_view text) {
  constexpr std::string_view kOpening = "-----BEGIN CERTIFICATE-----";
  constexpr std::string_view kClosing = "-----END CERTIFICATE-----";
  std::vector<std::string> blocks;
  for (std::size_t at = text.find(kOpening); at != std::string_view::npos && blocks.size() < kMostBlocks;
       at = text.find(kOpening, at)) {
    at += kOpening.size();
    const std::size_t end = text.find(kClosing, at);
    if (end == std::string_view::npos) break;
    std::string encoded(text.substr(at, end - at));
    std::erase_if(encoded, [](char c) { return c == '\n' || c == '\r' || c == ' ' || c == '\t'; });
    std::string der;
    if (base64_decode(encoded, der)) blocks.push_back(std::move(der));
    at = end;
  }
  return blocks;
}

Result<std::string> check_chain(std::string_view leaf, std::span<const std::string> between,
                                std::span<const std::string> authority, WallTime at) {
  const auto objected = [](std::string why) {
    return error(ErrorKind::Invalid, "no chain of certificates leads to the authority")
        .with_because(std::move(why));
  };
  const X509Owner certificate = certificate_in(leaf);
  const X509Trust store = trusting(authority);
  const X509Stack others(sk_X509_new_null());
  const X509Check check(X509_STORE_CTX_new());
  MIST_CHECK(others != nullptr && check != nullptr);
  if (certificate == nullptr) return objected("the certificate can't be read");
  if (store == nullptr || !add_to(others.get(), authority.first(authority.size() - 1)) ||
      !add_to(others.get(), between)) {
    ERR_clear_error();
    return objected("a certificate of the chain can't be read");
  }
  MIST_CHECK(X509_STORE_CTX_init(check.get(), store.get(), certificate.get(), others.get()) == 1);
  set_terms(X509_STORE_CTX_get0_param(check.get()), at);
  const bool holds = X509_verify_cert(check.get()) == 1;
  ERR_clear_error();
  if (!holds) return objected(X509_verify_cert_error_string(X509_STORE_CTX_get_error(check.get())));
  STACK_OF(X509)* const chain = X509_STORE_CTX_get0_chain(check.get());
  if (sk_X509_num(chain) < 2) return objected("it is the authority's own");
  return key_der(sk_X509_value(chain, 1));
}

std::vector<CertificatePromise> certificate_promises(std::string_view leaf, std::string_view issuer_key) {
  std::vector<CertificatePromise> found;
  const X509Owner certificate = certificate_in(leaf);
  if (certificate == nullptr) return found;
  const PromisesOwner promises(static_cast<STACK_OF(SCT)*>(
      X509_get_ext_d2i(certificate.get(), NID_ct_precert_scts, nullptr, nullptr)));
  const int at = X509_get_ext_by_NID(certificate.get(), NID_ct_precert_scts, -1);
  if (promises == nullptr || at < 0) {
    ERR_clear_error();
    return found;
  }
  // The log saw the certificate without its own promise.
  X509_EXTENSION_free(X509_delete_ext(certificate.get(), at));
  unsigned char* der = nullptr;
  const int size = i2d_re_X509_tbs(certificate.get(), &der);
  if (size <= 0) {
    ERR_clear_error();
    return found;
  }
  const std::string body = text_from(der, static_cast<std::size_t>(size));
  OPENSSL_free(der);
  const Digest issuer = sha256(issuer_key);
  for (int i = 0; i < std::min(sk_SCT_num(promises.get()), kMostPromises); ++i) {
    const SCT* const promise = sk_SCT_value(promises.get(), i);
    unsigned char* data = nullptr;
    const std::uint64_t milliseconds = SCT_get_timestamp(promise);
    if (SCT_get_version(promise) != SCT_VERSION_V1 || milliseconds > kLatestPromise) continue;
    CertificatePromise each;
    each.at = WallTime(std::chrono::milliseconds(milliseconds));
    std::size_t length = SCT_get0_log_id(promise, &data);
    each.log_id = text_from(data, length);
    length = SCT_get0_signature(promise, &data);
    each.signature = text_from(data, length);
    // RFC 6962, section 3.2: version 1, certificate_timestamp, precert_entry.
    each.message.assign(2, '\0');
    put_number(each.message, milliseconds, 8);
    put_number(each.message, 1, 2);
    each.message += issuer.raw();
    put_number(each.message, body.size(), 3);
    each.message += body;
    length = SCT_get0_extensions(promise, &data);
    put_number(each.message, length, 2);
    each.message += text_from(data, length);
    found.push_back(std::move(each));
  }
  return found;
}

namespace {

// OpenSSL takes every signer and every certificate that a token brings along, as long as the chain leads to
// the root: one that the authority had before, too. Empty: `authority` names this one.
std::string objection_to_signer(TS_RESP* response, STACK_OF(X509) * named,
                                std::span<const std::string> authority, WallTime at) {
  const BorrowedStack signers(PKCS7_get0_signers(TS_RESP_get_token(response), named, 0));
  if (signers == nullptr || sk_X509_num(signers.get()) != 1) return "it has not exactly one signer";
  const X509* const signer = sk_X509_value(signers.get(), 0);
  X509* const first = sk_X509_value(named, 0);
  const bool is_signer_named = X509_check_ca(first) == 0;
  if (is_signer_named) return X509_cmp(signer, first) == 0 ? "" : "its signer is not the authority's";
  if (authority.size() == 1) return {};
  const Result<std::string> issuer = check_chain(der_of<X509>(signer, &i2d_X509), {}, authority, at);
  return issuer ? std::string() : issuer.error().because;
}

}  // namespace

Result<WallTime> check_timestamp(std::string_view token, std::string_view message,
                                 std::span<const std::string> authority) {
  const auto objected = [](std::string why) {
    return error(ErrorKind::Invalid, "the timestamp is not valid").with_because(std::move(why));
  };
  const unsigned char* at = start_of(token);
  const ResponseOwner response(token.size() > kMostCertificateBytes
                                   ? nullptr
                                   : d2i_TS_RESP(nullptr, &at, static_cast<long>(token.size())));
  TS_TST_INFO* const info = response == nullptr ? nullptr : TS_RESP_get_tst_info(response.get());
  const auto time = info == nullptr ? std::nullopt : wall_time(TS_TST_INFO_get_time(info));
  X509Trust store = trusting(authority);
  X509Stack others(sk_X509_new_null());
  const TimestampCheck check(TS_VERIFY_CTX_new());
  MIST_CHECK(others != nullptr && check != nullptr);
  if (!time || store == nullptr || !add_to(others.get(), authority)) {
    ERR_clear_error();
    return objected(time ? "a certificate of the authority can't be read" : "it can't be read");
  }
  set_terms(X509_STORE_get0_param(store.get()), *time);
  MIST_CHECK(X509_STORE_set_purpose(store.get(), X509_PURPOSE_TIMESTAMP_SIGN) == 1);
  BIO* const data = BIO_new_mem_buf(message.data(), static_cast<int>(message.size()));
  MIST_CHECK(data != nullptr);
  // The context frees all three.
  STACK_OF(X509)* const named = others.release();
  TS_VERIFY_CTX_set_data(check.get(), data);
  TS_VERIFY_CTX_set_store(check.get(), store.release());
  TS_VERIFY_CTX_set_certs(check.get(), named);
  TS_VERIFY_CTX_set_flags(check.get(), TS_VFY_VERSION | TS_VFY_SIGNATURE | TS_VFY_DATA);
  if (TS_RESP_verify_response(check.get(), response.get()) != 1) return objected(last_reason());
  ERR_clear_error();
  const std::string why = objection_to_signer(response.get(), named, authority, *time);
  if (!why.empty()) return objected(why);
  return *time;
}

std::string timestamp_refusal(std::string_view response) {
  const unsigned char* at = start_of(response);
  const ResponseOwner read(response.size() > kMostCertificateBytes
                               ? nullptr
                               : d2i_TS_RESP(nullptr, &at, static_cast<long>(response.size())));
  ERR_clear_error();
  if (read == nullptr || TS_RESP_get_tst_info(read.get()) != nullptr) return {};
  TS_STATUS_INFO* const status = TS_RESP_get_status_info(read.get());
  std::string words = fmt::format("status {}", ASN1_INTEGER_get(TS_STATUS_INFO_get0_status(status)));
  const STACK_OF(ASN1_UTF8STRING)* const texts = TS_STATUS_INFO_get0_text(status);
  if (texts != nullptr && sk_ASN1_UTF8STRING_num(texts) > 0)
    words += ": " + text_from(sk_ASN1_UTF8STRING_value(texts, 0));
  return words;
}

}  // namespace mist::crypto
