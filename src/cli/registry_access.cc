#include "cli/registry_access.h"

#include <map>

#include "cli/package_flags.h"
#include "cli/places.h"
#include "http/retrying_client.h"
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

http::ClientOptions client_options(World& world) {
  http::ClientOptions options;
  options.user_agent = fmt::format("mistctl/{}", world.build.version);
  std::map<std::string, std::string> variables;  // keeps what the lookup points to
  options.proxy_environment = http::ProxyEnvironment::from([&](const char* name) -> const char* {
    auto found = world.environment(name);
    return found ? (variables[name] = *std::move(found)).c_str() : nullptr;
  });
  return options;
}

}  // namespace

std::unique_ptr<http::Transport> web_client(World& world) {
  return std::make_unique<http::Client>(client_options(world));
}

std::unique_ptr<http::Transport> web_transport(World& world, std::string peer) {
  http::RetryOptions retry;
  retry.peer = std::move(peer);
  retry.tracer = request_tracer(*world.events);
  return std::make_unique<http::RetryingClient>(client_options(world), world.clock, world.random,
                                                *world.events, std::move(retry));
}

registry::OciAccess oci_access(World& world, bool plain_http) {
  return {.transport = [&world] { return web_transport(world); },
          .environment = world.environment,
          .plain_http = plain_http};
}

Result<registry::Registries::World> registries_world(const Invocation& invocation, World& world,
                                                     registry::Mirrors mirrors) {
  MIST_TRY(config::Paths paths, paths_of(world));
  const bool plain = find_flag(invocation.command(), kPlainHttpFlag.name) != nullptr &&
                     invocation.enabled(kPlainHttpFlag.name);
  trust::CheckProvenance check = render::provenance_checker(renderer_options(world, paths), *world.events);
  return registry::Registries::World{world.files, world.processes,          *world.events, std::move(paths),
                                     world.clock, oci_access(world, plain), mirrors,       std::move(check)};
}

}  // namespace mist::cli
