#include "testing/fake_transport.h"

#include <utility>

#include "http/over_limit.h"

namespace mist::testing {
namespace {

// As the real one reads a body while it is sent. Its source may be of memory that is gone when a test looks
// at the request.
Result<http::Request> with_body(const http::Request& request) {
  http::Request whole = request;
  if (!request.source) return whole;
  whole.body.resize(static_cast<std::size_t>(request.source->size()));
  MIST_TRY_VOID(request.source->read(0, whole.body));
  whole.source.reset();
  return whole;
}

}  // namespace

FakeTransport& FakeTransport::next(Handler handler) {
  const std::scoped_lock lock(mutex_);
  script_.push_back({.handler = std::move(handler), .pieces = {}, .end = {}});
  return *this;
}

FakeTransport& FakeTransport::reply(int status, std::string body, http::Headers headers) {
  http::Response response{.status = status, .headers = std::move(headers), .body = std::move(body)};
  return next([response = std::move(response)](const http::Request&, const Context&) { return response; });
}

FakeTransport& FakeTransport::fail(Error error) {
  return next([error = std::move(error)](const http::Request&, const Context&) -> Result<http::Response> {
    return error;
  });
}

FakeTransport& FakeTransport::reply_pieces(std::vector<std::string> pieces, Status end) {
  const std::scoped_lock lock(mutex_);
  script_.push_back(
      {.handler = [](const http::Request&, const Context&) { return http::Response{.status = 200}; },
       .pieces = std::move(pieces),
       .end = std::move(end)});
  return *this;
}

FakeTransport& FakeTransport::otherwise(Handler handler) {
  const std::scoped_lock lock(mutex_);
  otherwise_ = std::move(handler);
  return *this;
}

std::vector<http::Request> FakeTransport::requests() const {
  const std::scoped_lock lock(mutex_);
  return requests_;
}

std::size_t FakeTransport::count() const {
  const std::scoped_lock lock(mutex_);
  return requests_.size();
}

FakeTransport::Step FakeTransport::take(const http::Request& request) {
  const std::scoped_lock lock(mutex_);
  requests_.push_back(request);
  if (!script_.empty()) {
    Step step = std::move(script_.front());
    script_.pop_front();
    return step;
  }
  if (otherwise_) return {.handler = otherwise_, .pieces = {}, .end = {}};
  return {.handler = [](const http::Request& unexpected, const Context&) -> Result<http::Response> {
            return error(ErrorKind::Internal, "FakeTransport has no answer for {} {}", unexpected.method,
                         unexpected.url);
          },
          .pieces = {},
          .end = {}};
}

Result<http::Response> FakeTransport::send(const http::Request& asked, const Context& context) {
  MIST_TRY_VOID(context.check());
  MIST_TRY(const http::Request request, with_body(asked));
  Step step = take(request);
  // Not under the lock: a handler may block until another thread sends something.
  MIST_TRY(http::Response response, step.handler(request, context));
  for (const std::string& piece : step.pieces) response.body += piece;
  MIST_TRY_VOID(std::move(step.end));
  if (response.body.size() > request.response_limit)
    return error(ErrorKind::Invalid, "the answer of {} is larger than the {} bytes allowed", request.url,
                 request.response_limit)
        .with_detail(http::OverLimit());
  return response;
}

Result<http::Response> FakeTransport::stream(const http::Request& asked, const http::BodyPiece& piece,
                                             const Context& context) {
  MIST_TRY_VOID(context.check());
  MIST_TRY(const http::Request request, with_body(asked));
  Step step = take(request);
  MIST_TRY(http::Response response, step.handler(request, context));
  if (response.status / 100 != 2) return response;
  if (step.pieces.empty() && !response.body.empty()) step.pieces.push_back(std::exchange(response.body, {}));
  for (const std::string& bytes : step.pieces) {
    MIST_TRY_VOID(context.check());
    if (!piece(bytes)) return response;
  }
  MIST_TRY_VOID(std::move(step.end));
  return response;
}

}  // namespace mist::testing
