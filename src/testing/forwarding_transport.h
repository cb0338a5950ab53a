#pragma once
// Hands requests on to a transport that somebody else owns: for code that wants one of its own. As
// thread-safe as that one.

#include "http/transport.h"

namespace mist::testing {

class ForwardingTransport final : public http::Transport {
 public:
  /// `to` outlives this.
  explicit ForwardingTransport(http::Transport& to) : to_(to) {}
  Result<http::Response> send(const http::Request& request, const Context& context) override {
    return to_.send(request, context);
  }
  Result<http::Response> stream(const http::Request& request, const http::BodyPiece& piece,
                                const Context& context) override {
    return to_.stream(request, piece, context);
  }

 private:
  http::Transport& to_;
};

}  // namespace mist::testing
