#pragma once
// The certificate with which a WebServer answers by TLS. Immutable: a renewed one is another object, which
// connections that are opened after it use. Any thread.

#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "base/secret.h"

namespace mist::http {

class ServerTls {
 public:
  /// PEM texts: a certificate, perhaps followed by its chain, and its key, not encrypted. TLS 1.2 at least.
  /// Errors: Invalid: one of them can't be read, or they don't belong together.
  static Result<std::shared_ptr<const ServerTls>> of(const std::string& certificate_pem,
                                                     const SecretString& key_pem);
  ~ServerTls();
  ServerTls(const ServerTls&) = delete;
  ServerTls& operator=(const ServerTls&) = delete;

  struct Impl;
  Impl& impl() const { return *impl_; }  ///< inside this folder

 private:
  explicit ServerTls(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The certificate that is used at present; null: there is none yet, and connections are closed.
class ServerTlsHolder {
 public:
  void set(std::shared_ptr<const ServerTls> tls) {
    const std::lock_guard lock(mutex_);
    tls_ = std::move(tls);
  }
  std::shared_ptr<const ServerTls> get() const {
    const std::lock_guard lock(mutex_);
    return tls_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const ServerTls> tls_;  // guarded by mutex_
};

}  // namespace mist::http
