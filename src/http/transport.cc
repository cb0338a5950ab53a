#include "http/transport.h"

#include <algorithm>

namespace mist::http {
namespace {

struct Undelivered {
  Sent sent;
  std::string failed;  // without what is said of the delivery
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

Error with_sent(Error failure, Sent sent) {
  Undelivered fact{sent, failure.message};
  failure.message += sent == Sent::Nothing ? "; nothing was sent" : "; the server may have got the request";
  return std::move(failure).with_detail(std::move(fact));
}

}  // namespace

std::string_view find_header(const Headers& headers, std::string_view name) {
  for (const Header& header : headers)
    if (std::ranges::equal(header.name, name, {}, lower, lower)) return header.value;
  return {};
}

std::uint64_t body_size(const Request& request) {
  return request.source ? request.source->size() : request.body.size();
}

Error undelivered(Sent sent, std::string failed) {
  return with_sent(error(ErrorKind::Retryable, "{}", failed), sent);
}

Error as_maybe_sent(Error failure) { return with_sent(std::move(failure), Sent::Maybe); }

bool surely_not_sent(const Error& error) {
  const Undelivered* const known = error.detail<Undelivered>();
  return known != nullptr && known->sent == Sent::Nothing;
}

bool maybe_acted_on(const Error& error) {
  const Undelivered* const known = error.detail<Undelivered>();
  return known != nullptr && known->sent == Sent::Maybe;
}

std::string without_sent(const Error& error) {
  const Undelivered* const known = error.detail<Undelivered>();
  return known != nullptr ? known->failed : error.message;
}

}  // namespace mist::http
