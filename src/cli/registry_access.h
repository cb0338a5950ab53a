#pragma once
// How commands reach registries. One thread.

#include <memory>
#include <string>

#include "cli/machine.h"
#include "cli/parse/command.h"
#include "cli/parse/invocation.h"
#include "http/retry.h"
#include "http/transport.h"
#include "registry/registry.h"

namespace mist::cli {

inline constexpr Flag kPlainHttpFlag{
    .name = "plain-http",
    .help =
        "Reach OCI registries by http, without TLS: anybody on the way can read and change everything. "
        "Registries of this machine need no flag",
    .rare = true};

/// `-v`: each request in a line. `events` is the machine's, which run() may replace.
http::Tracer request_tracer(EventSink& events);

/// Proxies and authorities as the environment and this machine's files say (registry/host_certificates.h),
/// for what packages name: no server gets a client certificate. Sends once.
std::unique_ptr<http::Transport> web_client(Machine& machine);
/// The same for what the user names, with client certificates, and repeats what may be repeated. `peer`: who
/// answers, for messages.
std::unique_ptr<http::Transport> web_transport(Machine& machine, std::string peer = "the registry");

registry::OciAccess oci_access(Machine& machine, bool plain_http);

/// `invocation`: its kPlainHttpFlag counts, where the command has it. Errors: of paths_of.
Result<registry::Registries::Dependencies> registry_dependencies(
    const Invocation& invocation, Machine& machine, registry::Mirrors mirrors = registry::Mirrors::Use);

}  // namespace mist::cli
