#include "kube/auth_transport.h"

#include "http/url.h"

namespace mist::kube {

AuthTransport::AuthTransport(std::unique_ptr<CredentialSource> credentials, Factory factory,
                             const Impersonation& impersonation)
    : credentials_(std::move(credentials)), factory_(std::move(factory)) {
  if (impersonation.user.empty()) return;
  headers_.push_back({"Impersonate-User", impersonation.user});
  if (!impersonation.uid.empty()) headers_.push_back({"Impersonate-Uid", impersonation.uid});
  for (const std::string& group : impersonation.groups) headers_.push_back({"Impersonate-Group", group});
  for (const auto& [key, value] : impersonation.extra)
    headers_.push_back({"Impersonate-Extra-" + http::escape_segment(key), value});
}

std::shared_ptr<http::Transport> AuthTransport::transport_for(const Credential& credential) {
  const std::lock_guard lock(mutex_);
  if (!transport_ || certificate_pem_ != credential.client_certificate_pem) {
    transport_ = factory_(credential.client_certificate_pem, credential.client_key_pem);
    certificate_pem_ = credential.client_certificate_pem;
  }
  return transport_;
}

template <typename Exchange>
Result<http::Response> AuthTransport::exchange(const http::Request& request, const Context& context,
                                               Exchange&& exchange) {
  http::Request authorized = request;
  authorized.headers.insert(authorized.headers.end(), headers_.begin(), headers_.end());
  for (bool again = false;; again = true) {
    MIST_TRY(const Credential credential, credentials_->get(context));
    authorized.authorization = credential.authorization;
    auto response = exchange(*transport_for(credential), authorized);
    if (again || !response || response->status != 401 || !credentials_->refresh(credential)) return response;
  }
}

Result<http::Response> AuthTransport::send(const http::Request& request, const Context& context) {
  return exchange(request, context, [&](http::Transport& transport, const http::Request& authorized) {
    return transport.send(authorized, context);
  });
}

Result<http::Response> AuthTransport::stream(const http::Request& request, const http::BodyPiece& piece,
                                             const Context& context) {
  return exchange(request, context, [&](http::Transport& transport, const http::Request& authorized) {
    return transport.stream(authorized, piece, context);
  });
}

}  // namespace mist::kube
