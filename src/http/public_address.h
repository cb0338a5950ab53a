#pragma once
// Which addresses belong to the Internet, and which to this machine, its networks and their services. Pure;
// any thread.

#include <string_view>

namespace mist::http {

/// Of a text: it is an IP address, without brackets, zone or port.
bool is_ip_address(std::string_view text);

/// Of an IP address as text, IPv6 with or without brackets: it is none of those that the registries of
/// special-purpose addresses (RFC 6890, IANA) keep for this machine, links, private and shared networks,
/// documentation, tests, multicast, or for ways to write IPv4 in IPv6, unless that IPv4 address is public.
/// False for what is not an address.
bool is_public_address(std::string_view address);

/// Of a host as a URL names it, before anybody resolves it: a public address, or a name that isn't one of
/// those for local use (RFC 6761, 6762, 8375; no dot).
bool may_be_public_host(std::string_view host);

/// Of a host as a URL names it, before anybody resolves it: an address of loopback, of none or of this link
/// (where clouds serve the credentials of machines), a name that stands for one (RFC 6761), or an address in
/// a spelling that only resolvers understand. Addresses of other networks are not.
bool may_be_this_machine(std::string_view host);

}  // namespace mist::http
