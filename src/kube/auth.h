#pragma once
// Credentials: what a request to the API server carries to say who asks, and where that comes from. Sources
// may be used from any thread; get() may block (a file, a plugin), and threads that ask meanwhile share its
// answer.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/context.h"
#include "base/fs.h"
#include "base/result.h"
#include "base/secret.h"
#include "kube/kubeconfig.h"

namespace mist::kube {

/// Both parts may be present; neither: anonymous.
struct Credential {
  std::optional<SecretString> authorization;  ///< the whole header value: "Bearer …"
  std::string client_certificate_pem;
  SecretString client_key_pem;
  friend bool operator==(const Credential&, const Credential&) = default;
};

class CredentialSource {
 public:
  virtual ~CredentialSource() = default;

  /// The credential to use now, from memory while it is still good. Errors: Forbidden (no credentials to be
  /// had), NotFound (a file or program isn't there), Timeout, Cancelled (the caller's time ended; requests
  /// that others wait for continue).
  virtual Result<Credential> get(const Context& context) = 0;

  /// The server refused `rejected` (401). True if the next get() may answer something else; a source that
  /// has replaced `rejected` meanwhile keeps what it has.
  virtual bool refresh(const Credential& rejected) = 0;
};

/// The same for ever: static token, user name and password, client certificate, nothing.
class StaticCredentials final : public CredentialSource {
 public:
  explicit StaticCredentials(Credential credential) : credential_(std::move(credential)) {}
  Result<Credential> get(const Context&) override { return credential_; }
  bool refresh(const Credential&) override { return false; }

 private:
  Credential credential_;
};

/// A bearer token in a file that somebody rotates (tokenFile, a Pod's service account). Read again when a
/// minute has passed and after a 401; while it can't be read, the last good token is used.
class TokenFileCredentials final : public CredentialSource {
 public:
  /// `base` holds the client certificate, if there is one. `fs` and `clock` must outlive this.
  TokenFileCredentials(Path file, Credential base, const FileSystem& fs, const Clock& clock);
  Result<Credential> get(const Context& context) override;
  bool refresh(const Credential& rejected) override;

 private:
  const Path file_;
  const FileSystem& fs_;
  const Clock& clock_;
  std::mutex mutex_;
  Credential current_;
  std::optional<SteadyTime> read_at_;
};

/// Another source's credentials, with a client certificate and key from files that somebody rotates. Read
/// again when a minute has passed and after a 401; what can't be read, or changes while it is read, leaves
/// the last good pair.
class CertificateFileCredentials final : public CredentialSource {
 public:
  /// Certificate and key, checked. Any thread.
  using Read = std::function<Result<std::pair<std::string, SecretString>>()>;
  /// `first` is the pair with which `inner` was made. `clock` must outlive this.
  CertificateFileCredentials(std::unique_ptr<CredentialSource> inner, Read read,
                             std::pair<std::string, SecretString> first, const Clock& clock);
  Result<Credential> get(const Context& context) override;
  bool refresh(const Credential& rejected) override;

 private:
  void look();  // mutex_ is held

  const std::unique_ptr<CredentialSource> inner_;
  const Read read_;
  const std::pair<std::string, SecretString> first_;
  const Clock& clock_;
  std::mutex mutex_;
  std::pair<std::string, SecretString> current_;  // guarded by mutex_
  SteadyTime read_at_;                            // guarded by mutex_
};

/// "Bearer <token>". Forbidden if the token holds characters that can't stand in a header (RFC 9110, 5.5);
/// the error names `origin`, never the token.
Result<SecretString> bearer(std::string_view token, std::string_view origin);

}  // namespace mist::kube
