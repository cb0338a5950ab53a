#include "crypto/certificate_authority.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/handle.h"
#include "base/text.h"
#include "crypto/keys.h"

namespace mist::crypto {
namespace {

using AuthorityBio = Handle<BIO, &BIO_free_all>;
using AuthorityKey = Handle<EVP_PKEY, &EVP_PKEY_free>;
using MadeCertificate = Handle<X509, &X509_free>;

// Without a callback OpenSSL asks the terminal for a passphrase.
int give_no_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*given*/) { return -1; }

AuthorityKey read_private_key(const std::string& pem) {
  const AuthorityBio in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  MIST_CHECK(in != nullptr);
  AuthorityKey key(PEM_read_bio_PrivateKey(in.get(), nullptr, &give_no_passphrase, nullptr));
  ERR_clear_error();
  return key;
}

MadeCertificate read_certificate(const std::string& pem) {
  const AuthorityBio in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  MIST_CHECK(in != nullptr);
  MadeCertificate certificate(PEM_read_bio_X509(in.get(), nullptr, &give_no_passphrase, nullptr));
  ERR_clear_error();
  return certificate;
}

std::string pem_of(X509& certificate) {
  const AuthorityBio out(BIO_new(BIO_s_mem()));
  MIST_CHECK(out != nullptr && PEM_write_bio_X509(out.get(), &certificate) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

// Nearly every draw is a key.
std::string new_key(Random& random) {
  for (;;) {
    std::array<std::byte, kKeyBytes> scalar{};
    random.fill(scalar);
    if (auto pair = p256_key(scalar)) return std::move(pair->private_pem);
  }
}

bool is_address(const std::string& name) {
  return name.find(':') != std::string::npos || name.find_first_not_of("0123456789.") == std::string::npos;
}

void add_extension(X509& certificate, X509& issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
  const Handle<X509_EXTENSION, &X509_EXTENSION_free> extension(
      X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  MIST_CHECK(extension != nullptr && X509_add_ext(&certificate, extension.get(), -1) == 1);
}

std::time_t seconds_of(WallTime time) { return std::chrono::system_clock::to_time_t(time); }

MadeCertificate blank(const std::string& name, EVP_PKEY& key, const CertificateTerm& term, Random& random) {
  MadeCertificate certificate(X509_new());
  MIST_CHECK(certificate != nullptr);
  X509_set_version(certificate.get(), X509_VERSION_3);
  // Positive, and of one length (RFC 5280, section 4.1.2.2).
  std::array<std::byte, 16> serial{};
  random.fill(serial);
  serial[0] = (serial[0] & std::byte{0x3f}) | std::byte{0x40};
  const Handle<BIGNUM, &BN_free> number(BN_bin2bn(reinterpret_cast<const unsigned char*>(serial.data()),
                                                  static_cast<int>(serial.size()), nullptr));
  MIST_CHECK(number != nullptr &&
             BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate.get())) != nullptr);
  MIST_CHECK(X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8,
                                        reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                                        0) == 1);
  MIST_CHECK(X509_set_pubkey(certificate.get(), &key) == 1);
  MIST_CHECK(ASN1_TIME_set(X509_getm_notBefore(certificate.get()), seconds_of(term.not_before)) != nullptr &&
             ASN1_TIME_set(X509_getm_notAfter(certificate.get()), seconds_of(term.not_after)) != nullptr);
  return certificate;
}

}  // namespace

CertifiedKey make_authority(const std::string& name, const CertificateTerm& term, Random& random) {
  std::string key_pem = new_key(random);
  const AuthorityKey key = read_private_key(key_pem);
  MIST_CHECK(key != nullptr);
  const MadeCertificate made = blank(name, *key, term, random);
  X509_set_issuer_name(made.get(), X509_get_subject_name(made.get()));
  add_extension(*made, *made, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  add_extension(*made, *made, NID_key_usage, "critical,keyCertSign,cRLSign");
  add_extension(*made, *made, NID_subject_key_identifier, "hash");
  MIST_CHECK(X509_sign(made.get(), key.get(), EVP_sha256()) > 0);
  return {pem_of(*made), SecretString(std::move(key_pem))};
}

Result<CertifiedKey> issue_for_server(const CertifiedKey& authority, const std::vector<std::string>& names,
                                      const CertificateTerm& term, Random& random) {
  const MadeCertificate issuer = read_certificate(authority.certificate_pem);
  const AuthorityKey issuer_key = read_private_key(authority.key_pem.reveal());
  if (!is_pair(authority))
    return error(ErrorKind::Invalid, "the authority's certificate and key don't belong together");
  std::string alternatives;
  for (const std::string& name : names) {
    if (!is_server_name(name))
      return error(ErrorKind::Invalid, "\"{}\" is neither a DNS name nor an IP address",
                   escape_controls(name));
    alternatives +=
        fmt::format("{}{}:{}", alternatives.empty() ? "" : ",", is_address(name) ? "IP" : "DNS", name);
  }
  if (names.empty()) return error(ErrorKind::Invalid, "a server's certificate needs a name");
  std::string key_pem = new_key(random);
  const AuthorityKey key = read_private_key(key_pem);
  MIST_CHECK(key != nullptr);
  // A common name has 64 characters at most, and clients read the alternative names only.
  const MadeCertificate made = blank(names.front().substr(0, 64), *key, term, random);
  X509_set_issuer_name(made.get(), X509_get_subject_name(issuer.get()));
  add_extension(*made, *issuer, NID_basic_constraints, "critical,CA:FALSE");
  add_extension(*made, *issuer, NID_key_usage, "critical,digitalSignature");
  add_extension(*made, *issuer, NID_ext_key_usage, "serverAuth");
  add_extension(*made, *issuer, NID_authority_key_identifier, "keyid");
  add_extension(*made, *issuer, NID_subject_alt_name, alternatives);
  MIST_CHECK(X509_sign(made.get(), issuer_key.get(), EVP_sha256()) > 0);
  return CertifiedKey{pem_of(*made), SecretString(std::move(key_pem))};
}

bool is_server_name(const std::string& name) {
  if (!is_address(name)) return is_dns1123_subdomain(name);
  const Handle<ASN1_OCTET_STRING, &ASN1_OCTET_STRING_free> address(a2i_IPADDRESS(name.c_str()));
  ERR_clear_error();
  return address != nullptr;
}

bool is_pair(const CertifiedKey& pair) {
  const MadeCertificate certificate = read_certificate(pair.certificate_pem);
  const AuthorityKey key = read_private_key(pair.key_pem.reveal());
  const bool belongs =
      certificate != nullptr && key != nullptr && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  return belongs;
}

bool is_issued_for(const std::string& certificate, const std::string& authority,
                   const std::vector<std::string>& names) {
  const MadeCertificate held = read_certificate(certificate);
  const MadeCertificate issuer = read_certificate(authority);
  if (held == nullptr || issuer == nullptr) return false;
  const bool is_signed = X509_verify(held.get(), X509_get0_pubkey(issuer.get())) == 1;
  ERR_clear_error();
  return is_signed && std::ranges::all_of(names, [&](const std::string& name) {
           return is_address(name) ? X509_check_ip_asc(held.get(), name.c_str(), 0) == 1
                                   : X509_check_host(held.get(), name.data(), name.size(), 0, nullptr) == 1;
         });
}

}  // namespace mist::crypto
