#pragma once
// Where a registry may send us: an OCI registry by redirects, by the address of an upload, by that of its
// token server; a chart repository by redirects and by its index. A registry is a server that the user named;
// what it names, the user hasn't. Any thread that the resolver allows.

#include <string>
#include <string_view>

#include "http/resolve.h"
#include "http/url.h"

namespace mist::registry {

/// Whether a request to `url` must be http::Request::public_only when the registry at `origin` names it. Not
/// so: the registry's own server; another server of this machine, if the registry is named as one; and, if
/// the registry is at a private address, its own host on other ports, and by https (which says who answers)
/// hosts of its own domain: below corp.example for registry.corp.example. How an address is written doesn't
/// count: public_only judges what a name leads to.
bool must_be_public(std::string_view origin, const http::Url& url, const http::Resolver& resolve);

/// Whether the answer from `from`, which came of the registry at `host`, may lead to `to`: never from https
/// to http, and no registry elsewhere may direct requests to this machine. `host`: also with a port.
bool may_follow(std::string_view host, std::string_view from, const http::Url& to);

}  // namespace mist::registry
