#pragma once
// A Transport that says who asks: it adds the credentials and the impersonation headers, asks for new
// credentials once when the server answers 401, and changes the client certificate when the credentials bring
// another, and the trusted roots when the cluster's CA is another. Any thread.

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "http/transport.h"
#include "kube/auth.h"
#include "kube/cluster_ca.h"

namespace mist::kube {

class AuthTransport final : public http::Transport {
 public:
  /// The two sides of TLS, which are the same for as long as a connection lives.
  struct Identity {
    std::string ca_pem;  ///< empty: the system's roots
    std::string certificate_pem;
    SecretString key_pem;  ///< both empty: no client certificate
    friend bool operator==(const Identity&, const Identity&) = default;
  };
  /// Makes the transport below.
  using Factory = std::function<std::shared_ptr<http::Transport>(const Identity&)>;

  /// `clock` tells whether a refused certificate has expired; it outlives this.
  AuthTransport(std::unique_ptr<CredentialSource> credentials, std::shared_ptr<ClusterCa> ca, Factory factory,
                const Impersonation& impersonation, const Clock& clock);

  /// Errors: those of the transport below and of the credentials; Forbidden when the server answers 401 to a
  /// client certificate that has expired, of which Kubernetes says no more than "Unauthorized". A Response
  /// with status 401 means that new credentials were refused too, or that there are none.
  Result<http::Response> send(const http::Request& request, const Context& context) override;
  Result<http::Response> stream(const http::Request& request, const http::BodyPiece& piece,
                                const Context& context) override;

 private:
  template <typename Exchange>
  Result<http::Response> exchange(const http::Request& request, const Context& context, Exchange&& exchange);
  std::shared_ptr<http::Transport> transport_for(Identity identity);

  const std::unique_ptr<CredentialSource> credentials_;
  const std::shared_ptr<ClusterCa> ca_;
  const Factory factory_;
  const Clock& clock_;
  http::Headers headers_;
  std::mutex mutex_;
  std::shared_ptr<http::Transport> transport_;  // guarded by mutex_
  Identity identity_;                           // guarded by mutex_; of transport_
};

}  // namespace mist::kube
