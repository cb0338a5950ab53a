#include "kube/auth_transport.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "crypto/certificate.h"
#include "http/untrusted.h"
#include "http/url.h"

namespace mist::kube {

namespace {

// Why the server refused it, if it is because the certificate is too old; a token beside it would have
// counted.
std::optional<Error> expired(const Credential& credential, WallTime now) {
  if (credential.authorization) return std::nullopt;
  const std::vector<crypto::Certificate> chain = crypto::certificates_in(credential.client_certificate_pem);
  if (chain.empty() || now <= chain.front().not_after) return std::nullopt;
  return error(ErrorKind::Forbidden, "the client certificate {} ended at {}, {} ago",
               escape_controls(chain.front().subject), format_time(chain.front().not_after),
               format_age(now - chain.front().not_after))
      .with_because("the server answers 401: Unauthorized")
      .with_hint("get a new client certificate (log in again), or choose another context with --context");
}

// With another CA, the server may be trusted, and get the request for the first time.
bool may_repeat(const http::Request& request, const Error& failure) {
  return http::is_untrusted(failure) &&
         (request.repeat == http::Repeat::Safe || !http::maybe_acted_on(failure));
}

}  // namespace

AuthTransport::AuthTransport(std::unique_ptr<CredentialSource> credentials, std::shared_ptr<ClusterCa> ca,
                             Factory factory, const Impersonation& impersonation, const Clock& clock)
    : credentials_(std::move(credentials)), ca_(std::move(ca)), factory_(std::move(factory)), clock_(clock) {
  if (impersonation.user.empty()) return;
  headers_.push_back({"Impersonate-User", impersonation.user});
  if (!impersonation.uid.empty()) headers_.push_back({"Impersonate-Uid", impersonation.uid});
  for (const std::string& group : impersonation.groups) headers_.push_back({"Impersonate-Group", group});
  for (const auto& [key, value] : impersonation.extra)
    headers_.push_back({"Impersonate-Extra-" + http::escape_segment(key), value});
}

std::shared_ptr<http::Transport> AuthTransport::transport_for(Identity identity) {
  const std::lock_guard lock(mutex_);
  if (!transport_ || identity_ != identity) {
    transport_ = factory_(identity);
    identity_ = std::move(identity);
  }
  return transport_;
}

template <typename Exchange>
Result<http::Response> AuthTransport::exchange(const http::Request& request, const Context& context,
                                               Exchange&& exchange) {
  http::Request authorized = request;
  authorized.headers.insert(authorized.headers.end(), headers_.begin(), headers_.end());
  bool renewed = false, distrusted = false;
  while (true) {
    // The limit of a request is the server's: a person may have to log in first.
    MIST_TRY(const Credential credential, credentials_->get(context));
    authorized.authorization = credential.authorization;
    // A caller that stops waiting is handled elsewhere; only its right to write counts here.
    authorized.may_be_sent = [held = context.with_stop({})] { return held.check(); };
    const Context bounded = request.time_limit ? context.with_timeout(*request.time_limit) : context;
    const std::string ca = ca_->pem();
    auto response =
        exchange(*transport_for({ca, credential.client_certificate_pem, credential.client_key_pem}),
                 authorized, bounded);
    if (!response) {
      if (!may_repeat(request, response.error()) || std::exchange(distrusted, true) || !ca_->refresh(ca))
        return response;
      continue;
    }
    if (response->status != 401) return response;
    if (!std::exchange(renewed, true) && credentials_->refresh(credential)) continue;
    if (auto because = expired(credential, clock_.now())) return *std::move(because);
    return response;
  }
}

Result<http::Response> AuthTransport::send(const http::Request& request, const Context& context) {
  return exchange(request, context,
                  [](http::Transport& transport, const http::Request& authorized, const Context& bounded) {
                    return transport.send(authorized, bounded);
                  });
}

Result<http::Response> AuthTransport::stream(const http::Request& request, const http::BodyPiece& piece,
                                             const Context& context) {
  return exchange(request, context,
                  [&](http::Transport& transport, const http::Request& authorized, const Context& bounded) {
                    return transport.stream(authorized, piece, bounded);
                  });
}

}  // namespace mist::kube
