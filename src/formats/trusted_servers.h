#pragma once
// The servers that whoever runs us trusts when a package is completed: its own, and those that a package on
// this machine names. Everything else that somebody's package, redirect or index leads to must be public.

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "http/transport.h"

namespace mist::formats {

/// A server is a host and a port: other services of a host are others'. https, ssh and oci without a port are
/// one server of that name. A plain value; one thread.
class TrustedServers {
 public:
  /// The server of `address`: a URL, or "user@host:path". An address without one (a path) adds none.
  void add(std::string_view address);
  bool contains(std::string_view address) const;

 private:
  std::set<std::string> servers_;
};

/// Decides by each request's own server, so that redirects and what an index names are judged as well as the
/// first address: a trusted one is asked as it is, every other by https and at a public address only
/// (http::Request::public_only). Errors: Forbidden, with `hint` where that was the reason; of the one behind.
/// One thread.
class LimitedTransport final : public http::Transport {
 public:
  /// `servers` outlives this.
  LimitedTransport(std::unique_ptr<http::Transport> behind, const TrustedServers& servers, std::string hint)
      : behind_(std::move(behind)), servers_(servers), hint_(std::move(hint)) {}

  Result<http::Response> send(const http::Request& request, const Context& context) override;
  Result<http::Response> stream(const http::Request& request, const http::BodyPiece& piece,
                                const Context& context) override;

 private:
  using Send = std::function<Result<http::Response>(const http::Request&)>;
  Result<http::Response> judged(const http::Request& request, const Send& go_on) const;

  const std::unique_ptr<http::Transport> behind_;
  const TrustedServers& servers_;
  const std::string hint_;
};

}  // namespace mist::formats
