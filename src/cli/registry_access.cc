#include "cli/registry_access.h"

#include <map>

#include "cli/package_flags.h"
#include "cli/places.h"
#include "http/retrying_client.h"
#include "registry/host_certificates.h"
#include "render/chart_provenance.h"

namespace mist::cli {

http::Tracer request_tracer(EventSink& events) {
  return [&events](const http::RequestTrace& trace) {
    events.debug(fmt::format("{} {} {} in {} ms{}", trace.method, trace.url,
                             trace.status != 0 ? std::to_string(trace.status) : trace.problem,
                             std::chrono::duration_cast<std::chrono::milliseconds>(trace.duration).count(),
                             trace.attempt > 1 ? fmt::format(", attempt {}", trace.attempt) : ""));
  };
}

namespace {

http::ClientOptions client_options(Machine& machine, registry::ClientCertificates clients) {
  http::ClientOptions options;
  options.find_host_tls = registry::host_certificates(machine.files, machine.environment, clients);
  options.user_agent = fmt::format("mistctl/{}", machine.build.version);
  std::map<std::string, std::string> variables;  // keeps what the lookup points to
  options.proxy_environment = http::ProxyEnvironment::from([&](const char* name) -> const char* {
    auto found = machine.environment(name);
    return found ? (variables[name] = *std::move(found)).c_str() : nullptr;
  });
  return options;
}

}  // namespace

std::unique_ptr<http::Transport> web_client(Machine& machine) {
  return std::make_unique<http::Client>(client_options(machine, registry::ClientCertificates::Withhold));
}

std::unique_ptr<http::Transport> web_transport(Machine& machine, std::string peer) {
  http::RetryOptions retry;
  retry.peer = std::move(peer);
  retry.tracer = request_tracer(*machine.events);
  return std::make_unique<http::RetryingClient>(
      client_options(machine, registry::ClientCertificates::Present), machine.clock, machine.random,
      *machine.events, std::move(retry));
}

registry::OciAccess oci_access(Machine& machine, bool plain_http) {
  return {.transport = [&machine] { return web_transport(machine); },
          .environment = machine.environment,
          .plain_http = plain_http};
}

Result<registry::Registries::Dependencies> registry_dependencies(const Invocation& invocation,
                                                                 Machine& machine,
                                                                 registry::Mirrors mirrors) {
  MIST_TRY(config::Paths paths, paths_of(machine));
  const bool plain = find_flag(invocation.command(), kPlainHttpFlag.name) != nullptr &&
                     invocation.enabled(kPlainHttpFlag.name);
  trust::CheckProvenance check =
      render::provenance_checker(renderer_options(machine, paths), *machine.events);
  return registry::Registries::Dependencies{machine.files,    machine.processes, *machine.events,
                                            std::move(paths), machine.clock,     oci_access(machine, plain),
                                            mirrors,          std::move(check)};
}

}  // namespace mist::cli
