#include "http/transport.h"

#include <algorithm>

namespace mist::http {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::string_view find_header(const Headers& headers, std::string_view name) {
  for (const Header& header : headers)
    if (std::ranges::equal(header.name, name, {}, lower, lower)) return header.value;
  return {};
}

bool surely_not_sent(const Error& error) { return error.message.ends_with(kNothingSent); }
bool maybe_acted_on(const Error& error) { return error.message.ends_with(kMaybeSent); }

}  // namespace mist::http
