#include "operator/webhook_keys.h"

#include "base/text.h"
#include "crypto/certificate.h"

namespace mist::operator_ {
namespace {

constexpr std::string_view kAuthorityName = "mistletoe-operator webhooks";
// Clocks of servers are that far apart, and a certificate counts for all of them.
constexpr std::chrono::hours kClockSkew{1};

// Of Secrets of the type kubernetes.io/tls the first three are known to people and tools.
constexpr std::string_view kServerCertificate = "tls.crt", kServerKey = "tls.key",
                           kAuthorityCertificate = "ca.crt", kAuthorityKey = "ca.key",
                           kNextCertificate = "next-ca.crt", kNextKey = "next-ca.key",
                           kFormer = "former-ca.crt";

crypto::CertificateTerm term_of(WallTime now, std::chrono::hours life) {
  return {now - kClockSkew, now + life};
}

// Whether there is no certificate, or it is time for another one.
bool is_due(const std::string& certificate, WallTime now) {
  const auto found = crypto::certificates_in(certificate);
  return found.empty() || found.front().is_old(now) || found.front().not_before > now;
}

bool has_ended(const std::string& certificate, WallTime now) {
  const auto found = crypto::certificates_in(certificate);
  return found.empty() || found.front().not_after <= now;
}

// Whether clients have learnt of it.
bool is_announced(const std::string& certificate, WallTime now) {
  const auto found = crypto::certificates_in(certificate);
  return !found.empty() && now >= found.front().not_before + kClockSkew + kAnnounced;
}

crypto::CertifiedKey server_of(const crypto::CertifiedKey& authority, const std::vector<std::string>& names,
                               WallTime now, Random& random) {
  auto issued = crypto::issue_for_server(authority, names, term_of(now, kServerLife), random);
  // keys_in() and options have looked at what may be wrong.
  MIST_CHECK(issued.ok());
  return *std::move(issued);
}

}  // namespace

std::string WebhookKeys::bundle() const {
  return authority.certificate_pem + (next ? next->certificate_pem : "") + former;
}

std::optional<WebhookKeys> keys_in(const Value& secret) {
  const auto text = [&](std::string_view key) {
    std::string decoded;
    if (!base64_decode(secret.string_at({"data", key}), decoded)) return std::string();
    return decoded;
  };
  const auto pair = [&](std::string_view certificate, std::string_view key) {
    return crypto::CertifiedKey{text(certificate), SecretString(text(key))};
  };
  WebhookKeys keys{pair(kAuthorityCertificate, kAuthorityKey), std::nullopt,
                   pair(kServerCertificate, kServerKey), text(kFormer)};
  if (!crypto::is_issued_for(keys.server.certificate_pem, keys.authority.certificate_pem, {}) ||
      !crypto::is_pair(keys.server) || !crypto::is_pair(keys.authority))
    return std::nullopt;
  if (crypto::CertifiedKey next = pair(kNextCertificate, kNextKey); crypto::is_pair(next))
    keys.next = std::move(next);
  return keys;
}

Value data_of(const WebhookKeys& keys) {
  Value data = Value::object();
  const auto set = [&](std::string_view certificate, std::string_view key, const crypto::CertifiedKey& pair) {
    data.set(certificate, base64_encode(pair.certificate_pem));
    data.set(key, base64_encode(pair.key_pem.reveal()));
  };
  set(kServerCertificate, kServerKey, keys.server);
  set(kAuthorityCertificate, kAuthorityKey, keys.authority);
  if (keys.next) set(kNextCertificate, kNextKey, *keys.next);
  if (!keys.former.empty()) data.set(kFormer, base64_encode(keys.former));
  return data;
}

std::optional<WebhookKeys> renewed(const std::optional<WebhookKeys>& held,
                                   const std::vector<std::string>& names, WallTime now, Random& random) {
  const auto new_authority = [&] {
    return crypto::make_authority(std::string(kAuthorityName), term_of(now, kAuthorityLife), random);
  };
  if (!held || has_ended(held->authority.certificate_pem, now)) {
    WebhookKeys fresh{new_authority(), std::nullopt, {}};
    fresh.server = server_of(fresh.authority, names, now, random);
    return fresh;
  }
  // The next authority first, and alone: until the server's certificate is due, clients learn of it.
  if (!held->next && is_due(held->authority.certificate_pem, now)) {
    WebhookKeys keys = *held;
    keys.next = new_authority();
    return keys;
  }
  const std::string& certificate = held->server.certificate_pem;
  const bool is_for_all = crypto::is_issued_for(certificate, held->authority.certificate_pem, names);
  if (is_for_all && !is_due(certificate, now)) return std::nullopt;
  WebhookKeys keys = *held;
  if (keys.next && is_announced(keys.next->certificate_pem, now)) {
    keys.former = keys.authority.certificate_pem;
    keys.authority = *std::exchange(keys.next, std::nullopt);
  }
  keys.server = server_of(keys.authority, names, now, random);
  return keys;
}

}  // namespace mist::operator_
