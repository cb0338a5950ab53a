#pragma once
// RetryingClient: a Client that owns the RetryingTransport before it, for callers that need nothing between
// them. Any thread.

#include "http/client.h"
#include "http/retry.h"

namespace mist::http {

class RetryingClient final : public Transport {
 public:
  /// `clock`, `random` and `events` outlive this.
  RetryingClient(ClientOptions options, Clock& clock, Random& random, EventSink& events, RetryOptions retry)
      : client_(std::move(options)), retrying_(client_, clock, random, events, std::move(retry)) {}

  Result<Response> send(const Request& request, const Context& context) override {
    return retrying_.send(request, context);
  }
  Result<Response> stream(const Request& request, const BodyPiece& piece, const Context& context) override {
    return retrying_.stream(request, piece, context);
  }

 private:
  Client client_;
  RetryingTransport retrying_;
};

}  // namespace mist::http
