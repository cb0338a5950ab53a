#include "http/public_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include "base/text.h"

namespace mist::http {
namespace {

using Bytes = std::array<unsigned char, 16>;

struct Network {
  Bytes prefix;
  unsigned bits;
};

// https://www.iana.org/assignments/iana-ipv4-special-registry, and multicast and above.
constexpr std::array kSpecial4{
    Network{{0}, 8},              // this network
    Network{{10}, 8},             // private
    Network{{100, 64}, 10},       // shared (carriers, some clusters)
    Network{{127}, 8},            // loopback
    Network{{169, 254}, 16},      // link-local, with the metadata services of clouds
    Network{{172, 16}, 12},       // private
    Network{{192, 0, 0}, 24},     // protocols
    Network{{192, 0, 2}, 24},     // documentation
    Network{{192, 88, 99}, 24},   // relays to IPv6
    Network{{192, 168}, 16},      // private
    Network{{198, 18}, 15},       // benchmarks
    Network{{198, 51, 100}, 24},  // documentation
    Network{{203, 0, 113}, 24},   // documentation
    Network{{224}, 3},            // multicast, reserved, broadcast
};

// Of IPv6 what is public lies in 2000::/3, but for these.
constexpr Network kGlobal6{{0x20}, 3};
constexpr Network kMapped{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96};
constexpr Network kTranslated{{0x00, 0x64, 0xff, 0x9b}, 96};  // RFC 6052
constexpr std::array kSpecial6{
    Network{{0x20, 0x01, 0x00}, 23},        // protocols, Teredo
    Network{{0x20, 0x01, 0x0d, 0xb8}, 32},  // documentation
    Network{{0x3f, 0xff}, 20},              // documentation
};

bool is_in(std::span<const unsigned char> address, const Network& network) {
  for (unsigned bit = 0; bit < network.bits; ++bit) {
    const unsigned mask = 0x80u >> (bit % 8);
    if (((address[bit / 8] ^ network.prefix[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

bool is_public4(std::span<const unsigned char> address) {
  return std::ranges::none_of(kSpecial4, [&](const Network& each) { return is_in(address, each); });
}

bool is_public6(const Bytes& address) {
  constexpr Network k6To4{{0x20, 0x02}, 16};  // RFC 3056
  if (is_in(address, kMapped) || is_in(address, kTranslated))
    return is_public4(std::span(address).subspan<12>());
  if (is_in(address, k6To4)) return is_public4(std::span(address).subspan<2, 4>());
  return is_in(address, kGlobal6) &&
         std::ranges::none_of(kSpecial6, [&](const Network& each) { return is_in(address, each); });
}

std::string_view without_brackets(std::string_view host) {
  return host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
}

constexpr std::array kHere4{
    Network{{0}, 8},         // this network
    Network{{127}, 8},       // loopback
    Network{{169, 254}, 16}  // link-local
};
constexpr std::array kHere6{
    Network{{0}, 96},          // :: and ::1, and the old way to write IPv4 in IPv6
    Network{{0xfe, 0x80}, 10}  // link-local
};

bool is_here4(std::span<const unsigned char> address) {
  return std::ranges::any_of(kHere4, [&](const Network& each) { return is_in(address, each); });
}

bool is_here6(const Bytes& address) {
  if (is_in(address, kMapped) || is_in(address, kTranslated))
    return is_here4(std::span(address).subspan<12>());
  return std::ranges::any_of(kHere6, [&](const Network& each) { return is_in(address, each); });
}

// The judgement of `of4` or `of6` on an address; nullopt: it is not an address.
template <typename Of4, typename Of6>
std::optional<bool> judge(std::string_view text, const Of4& of4, const Of6& of6) {
  const std::string zero_terminated(without_brackets(text));
  Bytes bytes{};
  if (::inet_pton(AF_INET, zero_terminated.c_str(), bytes.data()) == 1)
    return of4(std::span<const unsigned char>(bytes).first<4>());
  if (::inet_pton(AF_INET6, zero_terminated.c_str(), bytes.data()) == 1) return of6(bytes);
  return std::nullopt;
}

std::optional<bool> is_public(std::string_view text) { return judge(text, is_public4, is_public6); }

// Names are compared in lower case, without the dot at their end.
std::string plain_name(std::string_view host) {
  std::string name = lower_case(host);
  if (name.ends_with('.')) name.pop_back();
  return name;
}

// Spellings of addresses that only the system's resolver takes: 127.1, 0x7f000001, 2130706433.
bool is_number(std::string_view name) {
  const std::string_view last = name.substr(name.rfind('.') + 1);
  return !last.empty() &&
         (last.find_first_not_of("0123456789") == std::string::npos || last.starts_with("0x"));
}

}  // namespace

bool is_ip_address(std::string_view text) {
  return !text.starts_with('[') && text.find('\0') == std::string_view::npos && is_public(text).has_value();
}

bool is_public_address(std::string_view address) { return is_public(address).value_or(false); }

bool may_be_public_host(std::string_view host) {
  if (const auto address = is_public(host)) return *address;
  const std::string name = plain_name(host);
  if (is_number(name) || name.find('.') == std::string::npos) return false;
  return std::ranges::none_of(
      std::array<std::string_view, 5>{".localhost", ".local", ".internal", ".home.arpa", ".svc"},
      [&](std::string_view local) { return name.ends_with(local); });
}

bool may_be_this_machine(std::string_view host) {
  if (const auto here = judge(host, is_here4, is_here6)) return *here;
  const std::string name = plain_name(host);
  // Any other name in brackets is an address with a zone, of this link.
  return name == "localhost" || name.ends_with(".localhost") || name.starts_with('[') || is_number(name);
}

}  // namespace mist::http
