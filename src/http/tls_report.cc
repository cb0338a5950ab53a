#include "http/tls_report.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <ctime>

#include "base/handle.h"
#include "base/text.h"
#include "base/utc_time.h"

namespace mist::http {
namespace {

using ReportPointer = std::shared_ptr<TlsReport>;

void free_report(void*, void* pointer, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<ReportPointer*>(pointer);
}

int report_index() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, &free_report);
  return index;
}

std::string name_text(const X509_NAME* name) {
  const Handle<BIO, &BIO_free_all> out(BIO_new(BIO_s_mem()));
  if (!out || X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) < 0) return {};
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return escape_controls(std::string_view(data, static_cast<std::size_t>(size)));
}

WallTime time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return utc_time(parts);
}

std::string_view bytes_of(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::string address_text(std::string_view bytes) {
  char text[INET6_ADDRSTRLEN] = {};
  const int family = bytes.size() == 4 ? AF_INET : AF_INET6;
  if (bytes.size() != 4 && bytes.size() != 16) return {};
  return ::inet_ntop(family, bytes.data(), text, sizeof text) != nullptr ? text : "";
}

std::vector<std::string> names_of(X509* certificate) {
  std::vector<std::string> names;
  const Handle<GENERAL_NAMES, &GENERAL_NAMES_free> list(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  if (!list) return names;
  for (int i = 0; i < sk_GENERAL_NAME_num(list.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(list.get(), i);
    if (name->type == GEN_DNS) names.push_back(escape_controls(bytes_of(name->d.dNSName)));
    if (name->type == GEN_IPADD) names.push_back(address_text(bytes_of(name->d.iPAddress)));
  }
  return names;
}

CertificateFacts facts_of(X509* certificate) {
  return {.subject = name_text(X509_get_subject_name(certificate)),
          .issuer = name_text(X509_get_issuer_name(certificate)),
          .names = names_of(certificate),
          .not_before = time_of(X509_get0_notBefore(certificate)),
          .not_after = time_of(X509_get0_notAfter(certificate))};
}

TlsReport* report_of(const SSL* ssl) {
  const auto* slot =
      static_cast<const ReportPointer*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), report_index()));
  return slot == nullptr ? nullptr : slot->get();
}

// Of a client, called when the server asks for its certificate.
int on_certificate_asked(SSL* ssl, void*) {
  if (TlsReport* report = report_of(ssl)) report->certificate_asked = true;
  return 1;
}

int on_certificate(int accepted, X509_STORE_CTX* store) {
  const auto* ssl =
      static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  TlsReport* const found = report_of(ssl);
  X509* certificate = X509_STORE_CTX_get_current_cert(store);
  if (found == nullptr || certificate == nullptr) return accepted;
  TlsReport& report = *found;
  if (X509_STORE_CTX_get_error_depth(store) == 0 && !report.leaf) report.leaf = facts_of(certificate);
  // The first complaint is the root cause; OpenSSL goes on to others when verification is off.
  if (accepted == 0 && report.verify_error == 0) {
    report.verify_error = X509_STORE_CTX_get_error(store);
    report.verify_text = X509_verify_cert_error_string(report.verify_error);
    report.failed = facts_of(certificate);
  }
  return accepted;
}

}  // namespace

TrustProblem trust_problem(const TlsReport& report) {
  switch (report.verify_error) {
    case X509_V_OK:
      return TrustProblem::None;
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return TrustProblem::Expired;
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return TrustProblem::NotYetValid;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_INVALID_CA:
      return TrustProblem::UnknownAuthority;
    default:
      return TrustProblem::Other;
  }
}

void watch_handshake(void* ssl_ctx, std::shared_ptr<TlsReport> report) {
  auto* context = static_cast<SSL_CTX*>(ssl_ctx);
  auto* slot = new ReportPointer(std::move(report));
  if (SSL_CTX_set_ex_data(context, report_index(), slot) != 1) {
    delete slot;
    return;
  }
  SSL_CTX_set_verify(context, SSL_CTX_get_verify_mode(context), &on_certificate);
  SSL_CTX_set_cert_cb(context, &on_certificate_asked, nullptr);
}

bool has_chosen_http2(const void* ssl) {
  if (ssl == nullptr) return false;
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(static_cast<const SSL*>(ssl), &name, &size);
  return std::string_view(reinterpret_cast<const char*>(name), size) == "h2";
}

std::optional<CertificateFacts> read_certificate(const std::string& pem) {
  const Handle<BIO, &BIO_free_all> in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  if (!in) return std::nullopt;
  const Handle<X509, &X509_free> certificate(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr));
  if (!certificate) return std::nullopt;
  return facts_of(certificate.get());
}

}  // namespace mist::http
