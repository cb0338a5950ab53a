#include "testing/certificates.h"

#include <fmt/core.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "base/error.h"
#include "base/handle.h"

namespace mist::testing {
namespace {

using Key = Handle<EVP_PKEY, &EVP_PKEY_free>;
using Certificate = Handle<X509, &X509_free>;
using Bio = Handle<BIO, &BIO_free_all>;

Key make_key() {
  Key key(EVP_EC_gen("P-256"));
  MIST_CHECK(key != nullptr);
  return key;
}

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string pem_of(X509* certificate) {
  const Bio out(BIO_new(BIO_s_mem()));
  MIST_CHECK(PEM_write_bio_X509(out.get(), certificate) == 1);
  return text_of(out.get());
}

std::string pem_of(EVP_PKEY* key) {
  const Bio out(BIO_new(BIO_s_mem()));
  MIST_CHECK(PEM_write_bio_PrivateKey(out.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return text_of(out.get());
}

void add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Handle<X509_EXTENSION, &X509_EXTENSION_free> extension(
      X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  MIST_CHECK(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1);
}

Certificate blank(const std::string& common_name, EVP_PKEY* key) {
  Certificate certificate(X509_new());
  MIST_CHECK(certificate != nullptr);
  X509_set_version(certificate.get(), X509_VERSION_3);
  std::uint64_t serial = 0;
  MIST_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), serial >> 1);
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1, 0);
  X509_set_pubkey(certificate.get(), key);
  return certificate;
}

void set_life(X509* certificate, std::chrono::seconds begins, std::chrono::seconds ends) {
  X509_gmtime_adj(X509_getm_notBefore(certificate), begins.count());
  X509_gmtime_adj(X509_getm_notAfter(certificate), ends.count());
}

std::string alternative_names(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) {
    const bool address =
        name.find_first_not_of("0123456789.") == std::string::npos || name.find(':') != std::string::npos;
    list += fmt::format("{}{}:{}", list.empty() ? "" : ",", address ? "IP" : "DNS", name);
  }
  return list;
}

}  // namespace

struct TestAuthority::Impl {
  Key key = make_key();
  Certificate certificate;
};

TestAuthority::TestAuthority(const std::string& common_name) : impl_(std::make_unique<Impl>()) {
  impl_->certificate = blank(common_name, impl_->key.get());
  X509* certificate = impl_->certificate.get();
  set_life(certificate, std::chrono::hours(-48), std::chrono::hours(48));
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  add_extension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign");
  add_extension(certificate, certificate, NID_subject_key_identifier, "hash");
  MIST_CHECK(X509_sign(certificate, impl_->key.get(), EVP_sha256()) > 0);
  certificate_pem_ = pem_of(certificate);
}

TestAuthority::~TestAuthority() = default;

CertifiedKey TestAuthority::issue(const CertificateOptions& options) const {
  const Key key = make_key();
  const Certificate certificate = blank(options.common_name, key.get());
  set_life(certificate.get(), options.begins, options.ends);
  X509* authority = impl_->certificate.get();
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(authority));
  add_extension(certificate.get(), authority, NID_basic_constraints, "critical,CA:FALSE");
  add_extension(certificate.get(), authority, NID_ext_key_usage, "serverAuth,clientAuth");
  add_extension(certificate.get(), authority, NID_authority_key_identifier, "keyid");
  if (!options.names.empty())
    add_extension(certificate.get(), authority, NID_subject_alt_name, alternative_names(options.names));
  MIST_CHECK(X509_sign(certificate.get(), impl_->key.get(), EVP_sha256()) > 0);
  return {.certificate_pem = pem_of(certificate.get()), .key_pem = pem_of(key.get())};
}

}  // namespace mist::testing
