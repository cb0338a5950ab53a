#include "kube/auth.h"

#include <algorithm>

#include "base/text.h"

namespace mist::kube {
namespace {

constexpr auto kMaxAge = std::chrono::minutes(1);
constexpr std::uint64_t kLargestToken = 1 << 20;

}  // namespace

Result<SecretString> bearer(std::string_view token, std::string_view origin) {
  const std::string_view text = trim(token);
  if (text.empty()) return error(ErrorKind::Forbidden, "the token in {} is empty", origin);
  if (!std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; }))
    return error(ErrorKind::Forbidden,
                 "the content of {} is not a token: it holds blanks or control characters", origin);
  return SecretString(fmt::format("Bearer {}", text));
}

TokenFileCredentials::TokenFileCredentials(Path file, Credential base, const FileSystem& fs,
                                           const Clock& clock)
    : file_(std::move(file)), fs_(fs), clock_(clock), current_(std::move(base)) {
  current_.authorization.reset();
}

Result<Credential> TokenFileCredentials::get(const Context& context) {
  MIST_TRY_VOID(context.check());
  const std::lock_guard lock(mutex_);
  const SteadyTime now = clock_.steady_now();
  if (read_at_ && now - *read_at_ < kMaxAge) return current_;

  const auto fresh = [&]() -> Result<SecretString> {
    MIST_TRY(const std::string text, fs_.read(file_, kLargestToken));
    return bearer(text, file_.string());
  }();
  if (fresh)
    current_.authorization = *fresh;
  else if (!current_.authorization)
    return Error(fresh.error()).with_frame("while reading the token for the API server");
  read_at_ = now;
  return current_;
}

bool TokenFileCredentials::refresh(const Credential& rejected) {
  const std::lock_guard lock(mutex_);
  if (rejected == current_) read_at_.reset();
  return true;
}

CertificateFileCredentials::CertificateFileCredentials(std::unique_ptr<CredentialSource> inner, Read read,
                                                       std::pair<std::string, SecretString> first,
                                                       const Clock& clock)
    : inner_(std::move(inner)),
      read_(std::move(read)),
      first_(std::move(first)),
      clock_(clock),
      current_(first_),
      read_at_(clock.steady_now()) {}

// Twice: between the certificate and its key, somebody may put both again.
void CertificateFileCredentials::look() {
  read_at_ = clock_.steady_now();
  auto once = read_();
  if (!once.ok()) return;
  const auto again = read_();
  if (again.ok() && *once == *again) current_ = *std::move(once);
}

Result<Credential> CertificateFileCredentials::get(const Context& context) {
  MIST_TRY(Credential credential, inner_->get(context));
  // A plugin may have given another one.
  if (credential.client_certificate_pem != first_.first) return credential;
  const std::lock_guard lock(mutex_);
  if (clock_.steady_now() - read_at_ >= kMaxAge) look();
  credential.client_certificate_pem = current_.first;
  credential.client_key_pem = current_.second;
  return credential;
}

bool CertificateFileCredentials::refresh(const Credential& rejected) {
  bool other = false;
  Credential inner = rejected;
  {
    const std::lock_guard lock(mutex_);
    if (rejected.client_certificate_pem == current_.first) {
      look();
      inner.client_certificate_pem = first_.first;
      inner.client_key_pem = first_.second;
    }
    other = rejected.client_certificate_pem != current_.first;
  }
  return inner_->refresh(inner) || other;
}

}  // namespace mist::kube
