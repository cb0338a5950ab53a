#pragma once
// A small HTTP/1.1 server for probes and metrics: answers GET and HEAD, one thread, one request on each
// connection, which is bounded in time and bytes, so that a slow or endless client costs a socket for some
// seconds and nothing more. Clients that open many push out the oldest connections, not those that come. No
// TLS: it says nothing that is secret.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mist::http {

struct Answer {
  int status = 200;
  std::string body = {};
  std::string content_type = "text/plain; charset=utf-8";
};
/// `path` has no query. Called on the server's thread, so it may not block.
using AnswerPath = std::function<Answer(std::string_view path)>;

class Server {
 public:
  /// `address`: "127.0.0.1:8080", "[::1]:8080", ":8080" (every address of the machine); port 0: a free one.
  /// Invalid: it can't be read as one; Conflict: somebody else has it; Internal.
  static Result<std::unique_ptr<Server>> listen(std::string_view address, AnswerPath answer);
  /// Ends connections too.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Where it listens, with the port that it got: "127.0.0.1:34567".
  std::string address() const;

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mist::http
