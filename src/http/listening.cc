#include "http/listening.h"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/system/errc.hpp>
#include <boost/system/error_code.hpp>
#include <charconv>
#include <cstdint>

#include "base/text.h"

namespace mist::http {
namespace {

using boost::asio::ip::tcp;

Result<tcp::endpoint> endpoint_of(std::string_view address) {
  const auto invalid = [&] {
    return error(ErrorKind::Invalid, "\"{}\" is not an address to listen on", escape_controls(address))
        .with_hint("write 127.0.0.1:8080, [::1]:8080, or :8080 for every address of this machine");
  };
  const auto colon = address.rfind(':');
  if (colon == std::string_view::npos) return invalid();
  std::string_view host = address.substr(0, colon);
  const std::string_view digits = address.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (failed != std::errc() || end != digits.data() + digits.size()) return invalid();
  if (host.empty()) return tcp::endpoint(tcp::v6(), port);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  boost::system::error_code unreadable;
  const auto ip = boost::asio::ip::make_address(std::string(host), unreadable);
  if (unreadable) return invalid();
  return tcp::endpoint(ip, port);
}

boost::system::error_code listen_at(tcp::acceptor& acceptor, const tcp::endpoint& endpoint) {
  boost::system::error_code failed;
  acceptor.open(endpoint.protocol(), failed);
  if (!failed) acceptor.set_option(boost::asio::socket_base::reuse_address(true), failed);
  // ":8080" means IPv4 too.
  if (!failed && endpoint.address().is_unspecified() && endpoint.protocol() == tcp::v6())
    acceptor.set_option(boost::asio::ip::v6_only(false), failed);
  if (!failed) acceptor.bind(endpoint, failed);
  if (!failed) acceptor.listen(boost::asio::socket_base::max_listen_connections, failed);
  if (failed) {
    boost::system::error_code not_open;
    acceptor.close(not_open);
  }
  return failed;
}

// As where it was started with ipv6.disable=1, and in containers that have IPv4 addresses only.
bool is_without_ipv6(const boost::system::error_code& failed) {
  return failed == boost::asio::error::address_family_not_supported ||
         failed == boost::system::errc::address_not_available;
}

}  // namespace

Status listen_on(tcp::acceptor& acceptor, std::string_view address) {
  MIST_TRY(const tcp::endpoint endpoint, endpoint_of(address));
  boost::system::error_code failed = listen_at(acceptor, endpoint);
  const bool names_no_host = address.rfind(':') == 0;
  if (names_no_host && is_without_ipv6(failed))
    failed = listen_at(acceptor, tcp::endpoint(tcp::v4(), endpoint.port()));
  if (!failed) return {};
  return error(failed == boost::asio::error::address_in_use ? ErrorKind::Conflict : ErrorKind::Internal,
               "can't listen on {}", address)
      .with_because(failed.message());
}

std::string address_text(const tcp::endpoint& endpoint) {
  const std::string ip = endpoint.address().to_string();
  return endpoint.address().is_v6() ? fmt::format("[{}]:{}", ip, endpoint.port())
                                    : fmt::format("{}:{}", ip, endpoint.port());
}

}  // namespace mist::http
