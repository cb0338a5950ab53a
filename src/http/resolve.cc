#include "http/resolve.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/text.h"

namespace mist::http {
namespace {

std::string text_of(const addrinfo& info) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes =
      info.ai_family == AF_INET
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(info.ai_addr)->sin_addr)
          : &reinterpret_cast<const sockaddr_in6*>(info.ai_addr)->sin6_addr;
  return ::inet_ntop(info.ai_family, bytes, text.data(), text.size()) == nullptr ? "" : text.data();
}

}  // namespace

Result<std::vector<std::string>> resolve_host(const std::string& host) {
  const std::string bare =
      host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int code = ::getaddrinfo(bare.c_str(), nullptr, &wanted, &list);
  if (code != 0)
    return error(ErrorKind::Retryable, "the host {} can't be resolved", escape_controls(host))
        .with_because(::gai_strerror(code))
        .with_hint("check the name, the network and the name server");
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, ::freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    if (each->ai_family != AF_INET && each->ai_family != AF_INET6) continue;
    std::string text = text_of(*each);
    if (!text.empty() && std::ranges::find(addresses, text) == addresses.end())
      addresses.push_back(std::move(text));
  }
  if (addresses.empty())
    return error(ErrorKind::Retryable, "the host {} has no address", escape_controls(host));
  return addresses;
}

}  // namespace mist::http
