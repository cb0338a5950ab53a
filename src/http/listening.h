#pragma once
// Inside the servers of this folder: where they listen. One thread.

#include <boost/asio/ip/tcp.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mist::http {

/// Opens, binds and listens. `address`: "127.0.0.1:8080", "[::1]:8080", ":8080" (every address of the
/// machine, also where the kernel has no IPv6); port 0: a free one. Invalid: it can't be read as one;
/// Conflict: somebody else has it; Internal.
Status listen_on(boost::asio::ip::tcp::acceptor& acceptor, std::string_view address);

/// "127.0.0.1:34567", "[::1]:34567".
std::string address_text(const boost::asio::ip::tcp::endpoint& endpoint);

}  // namespace mist::http
