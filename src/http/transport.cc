#include "http/transport.h"

#include <algorithm>

namespace mist::http {
namespace {

struct Undelivered {
  Sent sent;
  std::string failed;  // without what is said of the delivery
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::string_view find_header(const Headers& headers, std::string_view name) {
  for (const Header& header : headers)
    if (std::ranges::equal(header.name, name, {}, lower, lower)) return header.value;
  return {};
}

Error undelivered(Sent sent, std::string failed) {
  Error result = error(ErrorKind::Retryable, "{}; {}", failed,
                       sent == Sent::Nothing ? "nothing was sent" : "the server may have got the request");
  return std::move(result).with_detail(Undelivered{sent, std::move(failed)});
}

bool surely_not_sent(const Error& error) {
  const Undelivered* const known = error.detail<Undelivered>();
  return known != nullptr && known->sent == Sent::Nothing;
}

std::string without_sent(const Error& error) {
  const Undelivered* const known = error.detail<Undelivered>();
  return known != nullptr ? known->failed : error.message;
}

}  // namespace mist::http
