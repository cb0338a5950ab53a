#pragma once
// The certificate of the operator's webhook, for as long as the operator runs: of keys that it makes and
// keeps in a Secret, which all replicas share, or of files that somebody else renews. Replicas that make or
// renew keys at the same time write with the version that they saw, so that one of them wins and the others
// use its keys. Any thread.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/event.h"
#include "base/fs.h"
#include "base/random.h"
#include "http/server_tls.h"
#include "kube/informer.h"
#include "operator/webhook_keys.h"

namespace mist::operator_ {

class WebhookCertificates {
 public:
  struct Dependencies {
    kube::Client& client;  ///< as the operator
    const FileSystem& files;
    Clock& clock;
    Random& random;
    EventSink& events;
  };
  struct Kept {
    std::string ns, secret;
    std::vector<std::string> names;  ///< DNS names and IP addresses of the webhook
  };
  struct Given {
    Path certificate, key;
    Path authority;  ///< empty: the API server's own roots
  };
  /// All of `dependencies` outlives this. `changed`: clients have to be told of other authorities; called on
  /// any thread.
  WebhookCertificates(Dependencies dependencies, std::function<void()> changed);
  ~WebhookCertificates();
  WebhookCertificates(const WebhookCertificates&) = delete;
  WebhookCertificates& operator=(const WebhookCertificates&) = delete;

  /// One of both, once: there is a certificate when it returns. Errors: of the requests or files; Invalid;
  /// Cancelled.
  Status keep(Kept kept, const Context& context);
  Status use(Given given);
  /// Looks again whether the certificate is to be renewed, as run() does. Errors as above; what is used stays
  /// in use.
  Status look(const Context& context);
  /// Until it is stopped. Sends nothing as long as nothing is to be renewed.
  void run(const std::stop_token& stop);

  const http::ServerTlsHolder& tls() const { return tls_; }
  /// PEM; empty: the API server's own roots.
  std::string authorities() const;

 private:
  Status look_at_secret(const Context& context);
  Status read_files();
  Status adopt(const std::string& certificate, const SecretString& key, const std::string& authorities);

  Dependencies dependencies_;
  const std::function<void()> changed_;
  http::ServerTlsHolder tls_;
  std::optional<Kept> kept_;
  std::optional<Given> given_;
  std::mutex looking_;
  std::optional<WebhookKeys> keys_;  // that are in use; guarded by looking_
  mutable std::mutex mutex_;
  std::string certificate_, authorities_;  // guarded by mutex_
  std::stop_source stop_;
  std::unique_ptr<kube::Informer> secrets_;  // last: its thread uses the others
};

}  // namespace mist::operator_
