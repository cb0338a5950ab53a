#pragma once
// A Transport that sends to public addresses only: for requests that a package names. Any thread that the one
// behind it allows.

#include <memory>

#include "http/transport.h"

namespace mist::http {

class PublicTransport final : public Transport {
 public:
  explicit PublicTransport(std::unique_ptr<Transport> behind) : behind_(std::move(behind)) {}

  Result<Response> send(const Request& request, const Context& context) override {
    return behind_->send(limited(request), context);
  }
  Result<Response> stream(const Request& request, const BodyPiece& piece, const Context& context) override {
    return behind_->stream(limited(request), piece, context);
  }

 private:
  static Request limited(Request request) {
    request.public_only = true;
    return request;
  }
  const std::unique_ptr<Transport> behind_;
};

}  // namespace mist::http
