#pragma once
// A TCP connection to a server of this machine, for tests that send what no HTTP client would.

#include <arpa/inet.h>
#include <sys/socket.h>

#include <string>
#include <string_view>

#include "base/handle.h"

namespace mist::testing {

/// `address`: "127.0.0.1:34567"; of other addresses the port on 127.0.0.1. Not open: nobody listens there.
inline UniqueFd connect_to(std::string_view address) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port =
      htons(static_cast<std::uint16_t>(std::stoi(std::string(address.substr(address.rfind(':') + 1)))));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 ? std::move(fd)
                                                                                     : UniqueFd();
}

/// False: the other end takes no more.
inline bool send_all(const UniqueFd& fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

/// Everything that comes until the other end closes.
inline std::string read_all(const UniqueFd& fd) {
  std::string all;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::recv(fd.get(), buffer, sizeof buffer, 0)) > 0;)
    all.append(buffer, static_cast<std::size_t>(got));
  return all;
}

}  // namespace mist::testing
