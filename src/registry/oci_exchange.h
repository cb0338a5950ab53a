#pragma once
// One exchange with an OCI registry: over http or https, with credentials as it asks for them, and with the
// redirects that may be followed. https, except for hosts of this machine (oci::is_loopback_host), which are
// asked by http first, and for everything with `plain_http`. Redirects are followed when something is read,
// never from https to http, and credentials stay with the registry that they are for: they are not sent to
// another server, and not to the token server that another one names. Redirects, uploads and token servers
// lead where oci_reach.h lets them. Any thread.

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/context.h"
#include "base/result.h"
#include "http/resolve.h"
#include "http/transport.h"
#include "http/url.h"
#include "oci/reference.h"
#include "registry/oci_auth.h"

namespace mist::registry {

struct OciCall {
  std::string host;
  std::string repository = {};  ///< empty: the registry itself
  oci::Access access = oci::Access::Pull;
  std::string also_pull = {};  ///< OciScope::also_pull
  bool public_only = false;    ///< oci::Repository::public_only
  /// Its URL is a path of the registry, or absolute. A large body has a source: requests are copied.
  http::Request request = {};
  const http::BodyPiece* piece = nullptr;

  static OciCall to_registry(const std::string& host, std::string_view path);
  /// `rest`: of the path, behind the repository's.
  static OciCall to(const oci::Repository& repository, std::string_view rest);
};

/// Of answers that aren't the bytes of a blob, in bytes.
inline constexpr std::uint64_t kMaxOciAnswer = std::uint64_t{16} << 20;

class OciExchange {
 public:
  /// `transport` outlives this.
  OciExchange(http::Transport& transport, FindLogin logins, bool plain_http, http::Resolver resolve);

  /// The answer, whatever its status, but for Forbidden: no credentials, or refused by the registry or by the
  /// server that it sends us to. Errors: Retryable, Invalid (a redirect that can't be trusted), Timeout,
  /// Cancelled, of FindLogin.
  Result<http::Response> send(const OciCall& call, const Context& context);
  /// "https://registry.example": where it was reached, or will be tried.
  std::string origin_of(const std::string& host) const;
  /// Whether it asked for credentials when it was asked for nothing in particular.
  bool has_answered(const std::string& host);

 private:
  /// An answer, and who gave it: redirects and upload addresses may lead to another server.
  struct Answered {
    http::Response response;
    http::Url by;
  };
  Result<Answered> follow(const OciCall& call, const std::string& origin,
                          const std::optional<OciAnswer>& known, const Context& context);
  bool may_be_tls(const std::string& host, const std::string& tried, const Result<Answered>& result) const;
  void note_origin(const std::string& host, const std::string& origin);

  http::Transport& transport_;
  OciAuth auth_;
  const bool plain_http_;
  const http::Resolver resolve_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> origins_;  // host → how it was reached; guarded by mutex_
};

/// Of an answer that the specification doesn't have there; `what` was asked.
Error unexpected_answer(const http::Response& response, const std::string& host, std::string_view what);
/// Of a URL, empty if it is none.
std::string origin_in(std::string_view url);

}  // namespace mist::registry
