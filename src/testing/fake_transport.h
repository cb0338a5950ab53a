#pragma once
// A Transport that answers from a script and remembers what it was asked. Bodies that a request has a source
// for are read, as when they are sent: handlers and requests() see them as `body`. Any thread.
//
//   FakeTransport web;
//   web.reply(429, "slow down", {{"Retry-After", "1"}});   // the next answers, in this order
//   web.fail(error(ErrorKind::Retryable, "gone"));
//   web.otherwise([](const http::Request& r, const Context&) { return http::Response{.status = 200}; });

#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "http/transport.h"

namespace mist::testing {

class FakeTransport final : public http::Transport {
 public:
  using Handler = std::function<Result<http::Response>(const http::Request&, const Context&)>;

  /// The next request without an answer of its own yet gets this one.
  FakeTransport& reply(int status, std::string body = {}, http::Headers headers = {});
  FakeTransport& fail(Error error);
  FakeTransport& next(Handler handler);
  /// A 2xx answer to stream(): its body in these pieces, then `end`, if it is an error.
  FakeTransport& reply_pieces(std::vector<std::string> pieces, Status end = {});
  /// Answers whatever the script has no answer for; without it such a request is an Internal error.
  FakeTransport& otherwise(Handler handler);

  std::vector<http::Request> requests() const;
  std::size_t count() const;

  Result<http::Response> send(const http::Request& asked, const Context& context) override;
  Result<http::Response> stream(const http::Request& asked, const http::BodyPiece& piece,
                                const Context& context) override;

 private:
  struct Step {
    Handler handler;
    std::vector<std::string> pieces;
    Status end;
  };
  Step take(const http::Request& request);

  mutable std::mutex mutex_;
  std::deque<Step> script_;              // guarded by mutex_
  Handler otherwise_;                    // guarded by mutex_
  std::vector<http::Request> requests_;  // guarded by mutex_
};

}  // namespace mist::testing
