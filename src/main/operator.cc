// mistletoe-operator: connects to a cluster and runs the Controller until it is told to stop.

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/process.h"
#include "base/process_identity.h"
#include "base/random.h"
#include "base/text.h"
#include "base/url.h"
#include "build_info.h"
#include "config/cache_limits.h"
#include "config/paths.h"
#include "engine_digests.h"
#include "http/client.h"
#include "http/retrying_client.h"
#include "http/server.h"
#include "http/url.h"
#include "kube/client_pool.h"
#include "kube/connect.h"
#include "kube/leader.h"
#include "kube/sharing.h"
#include "main/exhaustion.h"
#include "main/interrupt.h"
#include "main/line_log.h"
#include "main/printing.h"
#include "operator/controller.h"
#include "operator/conversion_webhook.h"
#include "operator/options.h"
#include "operator/watched_namespaces.h"
#include "registry/host_certificates.h"
#include "releases/controller.h"
#include "wasm/compiler.h"

namespace {

using mist::Result;
using mist::operator_::Options;

std::optional<std::string> environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

using mist::LineLog;
using mist::print_to;

constexpr std::string_view kLease = "mistletoe-operator";
constexpr std::chrono::seconds kLongestRetry{2};

// Which process this is, on which machine or in which Pod, and the part of that which is another one with
// each start.
std::pair<std::string, std::string> identity_of(mist::Random& random) {
  std::array<std::byte, 8> unlike{};
  random.fill(unlike);
  const std::string id = mist::hex(unlike);
  return {fmt::format("{}_{}", mist::host_name(), id), id};
}

mist::http::Answer answer(std::string_view path, const mist::operator_::Metrics& metrics) {
  if (path == "/healthz") return {.status = 200, .body = "ok\n"};
  if (const std::string lacking = metrics.lacking(); path == "/readyz" && !lacking.empty())
    return {.status = 503, .body = lacking + "\n"};
  if (path == "/readyz" && metrics.ready()) return {.status = 200, .body = "ok\n"};
  if (path == "/readyz") return {.status = 503, .body = "not connected yet\n"};
  if (path == "/metrics")
    return {.status = 200,
            .body = metrics.text(),
            .content_type = std::string(mist::operator_::Metrics::kContentType)};
  return {.status = 404, .body = "here are /healthz, /readyz and /metrics\n"};
}

// "10.0.0.1:6443".
std::string host_of(std::string_view server) {
  const auto url = mist::split_url(server);
  return std::string(url ? url->server : server);
}

mist::http::ClientOptions web_options() {
  mist::http::ClientOptions options;
  options.user_agent = fmt::format("mistletoe-operator/{}", MIST_VERSION);
  options.proxy_environment =
      mist::http::ProxyEnvironment::from([](const char* name) -> const char* { return std::getenv(name); });
  return options;
}

mist::http::ClientOptions web_options(const mist::FileSystem& files,
                                      mist::registry::ClientCertificates clients) {
  mist::http::ClientOptions options = web_options();
  options.find_host_tls = mist::registry::host_certificates(files, environment, clients);
  return options;
}

std::unique_ptr<mist::http::Transport> web_transport(const mist::FileSystem& files, mist::Clock& clock,
                                                     mist::Random& random, LineLog& log) {
  mist::http::RetryOptions retry;
  retry.peer = "the registry";
  return std::make_unique<mist::http::RetryingClient>(
      web_options(files, mist::registry::ClientCertificates::Present), clock, random, log, std::move(retry));
}

// Both until one ends, which ends the other; the first error.
template <typename One, typename Other>
mist::Status beside(const mist::Context& context, const One& one, const Other& other) {
  std::stop_source stop;
  const std::stop_callback whole(context.stop(), [&] { stop.request_stop(); });
  const mist::Context both = context.with_stop(stop.get_token());
  mist::Status of_other;
  {
    const std::jthread thread([&] {
      of_other = other(both);
      stop.request_stop();
    });
    mist::Status of_one = one(both);
    stop.request_stop();
    if (!of_one.ok() && of_one.error().kind != mist::ErrorKind::Cancelled) return of_one;
  }
  return of_other;
}

Result<std::optional<mist::operator_::TraceOptions>> traces_of(const Options& options) {
  MIST_TRY(auto traces, mist::operator_::TraceOptions::from(options.otlp_endpoint, environment));
  if (!traces) return traces;
  traces->version = MIST_VERSION;
  traces->instance = mist::host_name();
  return traces;
}

mist::operator_::ConversionWebhook::Options webhook_options(const Options& options) {
  mist::operator_::ConversionWebhook::Options webhook{
      .listen = options.webhook_listen, .service = options.webhook_service, .url = options.webhook_url};
  if (!options.webhook_certificate.empty())
    webhook.given = {options.webhook_certificate, options.webhook_key, options.webhook_authority};
  return webhook;
}

mist::Status run(const Options& options, const mist::Context& context, mist::Pulse& pulse, LineLog& log,
                 mist::Clock& clock, const mist::Path& program) {
  mist::HostFileSystem files;
  mist::HostProcessRunner processes;
  mist::SystemRandom random;
  MIST_TRY(const mist::config::Paths paths, mist::config::Paths::from_environment(environment, program));
  mist::operator_::Metrics metrics(MIST_VERSION,
                                   options.elect || options.sharding ? std::string(kLease) : std::string());
  const mist::kube::ConnectOptions connection{
      .kubeconfig = options.kubeconfig,
      .context = options.context,
      .ns = options.ns,
      .user_agent = mist::kube::user_agent("mistletoe-operator", MIST_VERSION),
      .cache_directory = {}};
  const mist::kube::ConnectDependencies outside{
      .fs = files,
      .processes = processes,
      .clock = clock,
      .random = random,
      .events = log,
      .getenv = environment,
      .exchanged = [&metrics](std::string_view method, int status) { metrics.requested(method, status); }};
  MIST_TRY(const std::unique_ptr<mist::kube::RestClient> client, mist::kube::connect(connection, outside));
  metrics.sends_to(host_of(client->server()));
  mist::kube::ClientPool clients([&](const std::string& user) -> Result<std::shared_ptr<mist::kube::Client>> {
    mist::kube::ConnectOptions impersonating = connection;
    impersonating.as_user = user;
    MIST_TRY(std::unique_ptr<mist::kube::RestClient> as, mist::kube::connect(impersonating, outside));
    return std::shared_ptr<mist::kube::Client>(std::move(as));
  });
  mist::package::RendererOptions engines;
  engines.code_cache = paths.compiled_code();
  engines.code_cache_bytes = mist::config::CacheLimits().within(paths.cache_limit).code;
  engines.engines = mist::package::EngineStore(paths.engines, mist::package::kEngineDigests);
  engines.pulse = &pulse;
  options.set_limits(engines);
  engines.compiler = std::make_shared<mist::wasm::ProcessCompiler>(
      processes, mist::wasm::this_program(program), mist::wasm::CompileLimits{.flags = engines.limits.flags},
      context);
  mist::package::Renderer renderer(engines, log);
  log.info(fmt::format("mistletoe-operator {} at {}", MIST_VERSION, client->describe()));
  std::optional<mist::operator_::TraceOptions> tracing;
  // A variable that is meant for another program mustn't stop this one.
  if (auto read = traces_of(options); read.ok())
    tracing = *std::move(read);
  else
    log.warn("there are no traces: " + read.error().to_line());
  std::optional<mist::http::Client> collector;
  std::optional<mist::operator_::Traces> traces;
  if (tracing) {
    log.info(fmt::format("sending traces to {}", mist::http::loggable_url(tracing->url)));
    if ((tracing->authorization || !tracing->headers.empty()) && mist::scheme_of(tracing->url) == "http")
      log.warn("the headers of traces, which may be credentials, are sent without TLS");
    traces.emplace(
        *std::move(tracing),
        mist::operator_::Traces::Dependencies{
            .web = collector.emplace(web_options()), .clock = clock, .random = random, .events = log});
  }
  mist::operator_::Traces* const traced = traces ? &*traces : nullptr;
  if (traced != nullptr) metrics.watch_traces([traced] { return traced->dropped(); });
  std::unique_ptr<mist::http::Server> server;
  if (!options.listen.empty()) {
    MIST_TRY(server, mist::http::Server::listen(
                         options.listen, [&](std::string_view path) { return answer(path, metrics); }));
    log.info(fmt::format("serving probes and metrics at {}", server->address()));
  }
  const mist::releases::Dependencies release_dependencies{
      .files = files,
      .processes = processes,
      .clock = clock,
      .random = random,
      .events = log,
      .paths = paths,
      .oci = {.transport = [&] { return web_transport(files, clock, random, log); },
              .environment = environment},
      .transport =
          [&] {
            return std::make_unique<mist::http::Client>(
                web_options(files, mist::registry::ClientCertificates::Withhold));
          },
      .engines = engines,
      .holder = fmt::format("mistletoe-operator@{} pid {}", mist::host_name(), ::getpid()),
      .client = *client,
      .client_of = [&clients](const std::string& user) { return clients.of(user); },
      .ns = client->default_namespace(),
      .default_account = options.default_account,
      .traces = traced};
  if (!options.releases.empty()) MIST_TRY_VOID(mist::config::check_places(paths));
  const mist::operator_::WatchedNamespaces namespaces(options.watch_namespaces);
  if (!namespaces.are_all()) log.info(fmt::format("working in {} only", namespaces.display()));
  // Of every replica, also while it waits: the API server asks any of them.
  std::optional<mist::operator_::ConversionWebhook> webhook;
  if (!options.webhook_listen.empty()) {
    webhook.emplace(mist::operator_::ConversionWebhook::Dependencies{.client = *client,
                                                                     .renderer = renderer,
                                                                     .files = files,
                                                                     .clock = clock,
                                                                     .random = random,
                                                                     .events = log,
                                                                     .metrics = &metrics},
                    webhook_options(options), client->default_namespace());
    MIST_TRY_VOID(webhook->start(context));
  }
  const auto work = [&](const mist::kube::Share& share, const mist::Context& ours) {
    const mist::releases::Controller::Scope scope{
        .namespaces = options.releases == "own"
                          ? mist::operator_::WatchedNamespaces({client->default_namespace()})
                          : namespaces,
        .selector = options.release_selector,
        .share = share};
    mist::operator_::Controller controller(
        {.client = *client,
         .client_of =
             [&](const mist::operator_::Account& account) -> Result<std::shared_ptr<mist::kube::Client>> {
           if (account.empty()) return mist::kube::borrowed(*client);
           return clients.of(mist::operator_::user_of(client->default_namespace(), account));
         },
         .default_account = options.default_account,
         .renderer = renderer,
         .clock = clock,
         .events = log,
         .metrics = metrics,
         .traces = traced,
         .namespaces = namespaces,
         .webhook = webhook ? &*webhook : nullptr,
         .workers = options.worker_count(),
         .share = share,
         .not_kept =
             [&](const mist::encoding::Value& release) {
               return options.releases.empty()
                          ? std::string("this operator looks at no Releases: start it with --releases all")
                          : mist::releases::Controller::why_not_kept(scope, release);
             }},
        client->default_namespace());
    if (options.releases.empty()) return controller.run(ours);
    mist::releases::Controller releases(release_dependencies, metrics, scope, options.release_worker_count());
    return beside(
        ours, [&](const mist::Context& both) { return controller.run(both); },
        [&](const mist::Context& both) { return releases.run(both); });
  };
  if (!options.elect && !options.sharding) return work(mist::kube::Share::all(), context);
  // A replica that waits is as ready as it has to be.
  metrics.is_ready(true);
  const mist::Duration term = options.term();
  const mist::Duration retry = std::min<mist::Duration>(term * 2 / 15, kLongestRetry);
  const auto [identity, id] = identity_of(random);
  if (options.sharding) {
    metrics.stays_ready();
    return mist::kube::share(*client, clock, log,
                             {.ns = client->default_namespace(),
                              .name = std::string(kLease),
                              .identity = identity,
                              .id = id,
                              .term = term,
                              .retry = retry,
                              .told =
                                  [&](const mist::kube::Share& share) {
                                    metrics.shares(share.slots().count(), share.is_first());
                                  }},
                             work, context);
  }
  return mist::kube::lead(
      *client, clock, log,
      {.ns = client->default_namespace(),
       .name = std::string(kLease),
       .identity = identity,
       .term = term,
       .retry = retry,
       .leads = [&](bool leads) { metrics.leads(leads); }},
      [&](const mist::Context& ours) { return work(mist::kube::Share::all(), ours); }, context);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == mist::wasm::kCompileVerb)
    return mist::wasm::run_compiler(std::span(argv, static_cast<std::size_t>(argc)).subspan(2));
  // Each arena keeps what its thread freed: with a dozen informers and workers, a third of the memory.
  ::mallopt(M_ARENA_MAX, 1);
  mist::explain_exhaustion();
  mist::Interrupt interrupt;
  const std::vector<std::string_view> arguments(argv + std::min(argc, 1), argv + argc);
  const auto options = mist::operator_::parse_options(arguments, mist::HostFileSystem());
  mist::Status usable = options.ok() ? mist::Status() : mist::Status(options.error());
  if (usable && !options->otlp_endpoint.empty())
    if (const auto traces = traces_of(*options); !traces.ok()) usable = traces.error();
  if (!usable) {
    const mist::Error& fault = usable.error();
    print_to(2, fmt::format("error: {}\n{}\n", mist::escape_controls(fault.to_line()),
                            fault.hint.empty() ? "  try: mistletoe-operator --help"
                                               : "  try: " + mist::escape_controls(fault.hint)));
    return 2;
  }
  if (options->help || options->version || options->crds) {
    const mist::Status printed =
        mist::print_result(options->help   ? std::string(mist::operator_::usage())
                           : options->crds ? std::string(mist::releases::crd_text())
                                           : fmt::format("mistletoe-operator {}\n", MIST_VERSION));
    if (printed.ok()) return 0;
    print_to(2, fmt::format("error: {}\n", mist::escape_controls(printed.error().to_line())));
    return 1;
  }
  mist::SystemClock clock;
  LineLog log(clock, options->verbose, options->logs_json() ? LineLog::Format::Json : LineLog::Format::Text);
  std::error_code failed;
  const mist::Path program = std::filesystem::read_symlink("/proc/self/exe", failed);
  const mist::Status done =
      run(*options, mist::Context(interrupt.token()), interrupt.pulse(), log, clock, program);
  if (done.ok() || interrupt.token().stop_requested()) return 0;
  print_to(2, fmt::format("error: {}\n", mist::escape_controls(done.error().to_line())));
  return 1;
}
