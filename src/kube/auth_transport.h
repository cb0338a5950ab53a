#pragma once
// A Transport that says who asks: it adds the credentials and the impersonation headers, asks for new
// credentials once when the server answers 401, and changes the client certificate when the credentials bring
// another. Any thread.

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "http/transport.h"
#include "kube/auth.h"

namespace mist::kube {

class AuthTransport final : public http::Transport {
 public:
  /// Makes the transport below for a client certificate (both empty: none).
  using Factory = std::function<std::shared_ptr<http::Transport>(const std::string& certificate_pem,
                                                                 const SecretString& key_pem)>;

  /// `clock` tells whether a refused certificate has expired; it outlives this.
  AuthTransport(std::unique_ptr<CredentialSource> credentials, Factory factory,
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
  std::shared_ptr<http::Transport> transport_for(const Credential& credential);

  const std::unique_ptr<CredentialSource> credentials_;
  const Factory factory_;
  const Clock& clock_;
  http::Headers headers_;
  std::mutex mutex_;
  std::shared_ptr<http::Transport> transport_;
  std::string certificate_pem_;
};

}  // namespace mist::kube
