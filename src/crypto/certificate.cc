#include "crypto/certificate.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <ctime>
#include <optional>

#include "base/handle.h"
#include "base/result.h"
#include "base/utc_time.h"

namespace mist::crypto {
namespace {

constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
constexpr std::size_t kMost = 100;

using BioHandle = Handle<BIO, &BIO_free_all>;
using CertificateHandle = Handle<X509, &X509_free>;

std::optional<WallTime> time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
  return utc_time(parts);
}

std::string subject_of(const X509& certificate) {
  const BioHandle out(BIO_new(BIO_s_mem()));
  MIST_CHECK(out != nullptr);
  if (X509_NAME_print_ex(out.get(), X509_get_subject_name(&certificate), 0, XN_FLAG_RFC2253) < 0) return {};
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

// Without a callback OpenSSL asks the terminal for the passphrase of a text that claims to be encrypted,
// whoever sent that text.
int ask_nobody(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*given*/) { return -1; }

std::optional<Certificate> parse(std::string_view block) {
  const BioHandle in(BIO_new_mem_buf(block.data(), static_cast<int>(block.size())));
  MIST_CHECK(in != nullptr);
  const CertificateHandle certificate(PEM_read_bio_X509(in.get(), nullptr, &ask_nobody, nullptr));
  if (certificate == nullptr) {
    ERR_clear_error();
    return std::nullopt;
  }
  const auto begins = time_of(X509_get0_notBefore(certificate.get()));
  const auto ends = time_of(X509_get0_notAfter(certificate.get()));
  if (!begins || !ends) return std::nullopt;
  return Certificate{subject_of(*certificate), *begins, *ends};
}

}  // namespace

std::vector<Certificate> certificates_in(std::string_view text) {
  std::vector<Certificate> found;
  for (std::size_t at = text.find(kBegin); at != std::string_view::npos && found.size() < kMost;
       at = text.find(kBegin, at + kBegin.size())) {
    const std::size_t end = text.find(kEnd, at);
    if (end == std::string_view::npos) break;
    // PEM_read_bio wants the line's end.
    if (auto certificate = parse(std::string(text.substr(at, end + kEnd.size() - at)) + "\n"))
      found.push_back(*std::move(certificate));
  }
  return found;
}

}  // namespace mist::crypto
