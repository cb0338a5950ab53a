// mistletoe-operator: connects to a cluster and runs the Controller until it is told to stop.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <span>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/duration.h"
#include "base/process.h"
#include "base/process_identity.h"
#include "base/random.h"
#include "base/text.h"
#include "build_info.h"
#include "config/paths.h"
#include "engine_digests.h"
#include "http/client.h"
#include "http/retrying_client.h"
#include "http/server.h"
#include "http/url.h"
#include "kube/client_pool.h"
#include "kube/connect.h"
#include "kube/leader.h"
#include "main/interrupt.h"
#include "main/line_log.h"
#include "operator/controller.h"
#include "releases/controller.h"
#include "wasm/compiler.h"

namespace {

using mist::Result;

constexpr std::string_view kUsage = R"(usage: mistletoe-operator [flags]

Keeps the objects of blueprints, and releases of packages, as they are wanted. docs/operator.md explains
blueprints, docs/release-resource.md the custom resource Release.

  --kubeconfig FILE   the cluster; without it KUBECONFIG, ~/.kube/config, or the Pod's service account
  --context NAME      of the kubeconfig; its current one
  -n, --namespace NS  where the ConfigMaps with blueprints are; the context's
  --listen ADDRESS    serve /healthz, /readyz and /metrics there: 127.0.0.1:8080, [::1]:8080, or :8080 for
                      every address of the Pod
  --otlp-endpoint URL send traces to this OpenTelemetry collector, by HTTP: http://collector:4318. Without
                      it the variables OTEL_EXPORTER_OTLP_… say where, if they are set
  --leader-elect      of several replicas only one works: the holder of the Lease mistletoe-operator in the
                      namespace of the blueprints; when it is silent, another takes over
  --lease-duration D  for how long it may be silent (15s); whole seconds, 3s at least
  --default-service-account NAME
                      act for blueprints without the annotation mistletoe.dev/service-account, and for
                      Releases without serviceAccountName, as this ServiceAccount of the same namespace;
                      without it, as the operator itself, but for Releases of other namespaces
  --releases WHERE    keep Releases too: those of its own namespace (own), or of every one (all)
  --release-selector S
                      of these only those with matching labels (team=a,env!=dev)
  --release-workers N look at that many Releases at once, of one namespace a quarter (16)
  --crds              print the CustomResourceDefinition of Release, for kubectl apply -f -
  --workers N         write to that many instances of blueprints at once (8)
  -v, --verbose       say more
  --version           print the version
  -h, --help          print this
)";

std::optional<std::string> environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

using mist::LineLog;
using mist::print_to;

struct Options {
  std::string kubeconfig, context, ns, listen, lease_duration = "15s", default_account;
  std::string otlp_endpoint, releases, release_selector, release_workers = "16", workers = "8";
  bool elect = false, verbose = false, version = false, help = false, crds = false;
};

constexpr std::string_view kLease = "mistletoe-operator";
constexpr std::chrono::seconds kShortestTerm{3};
constexpr std::chrono::seconds kLongestRetry{2};

Result<Options> parse(std::span<char*> arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view whole = arguments[i];
    const auto equals = whole.starts_with("--") ? whole.find('=') : std::string_view::npos;
    const std::string_view flag = whole.substr(0, equals);
    std::string* const text = flag == "--kubeconfig"                  ? &options.kubeconfig
                              : flag == "--context"                   ? &options.context
                              : flag == "--namespace" || flag == "-n" ? &options.ns
                              : flag == "--listen"                    ? &options.listen
                              : flag == "--otlp-endpoint"             ? &options.otlp_endpoint
                              : flag == "--lease-duration"            ? &options.lease_duration
                              : flag == "--default-service-account"   ? &options.default_account
                              : flag == "--releases"                  ? &options.releases
                              : flag == "--release-selector"          ? &options.release_selector
                              : flag == "--release-workers"           ? &options.release_workers
                              : flag == "--workers"                   ? &options.workers
                                                                      : nullptr;
    bool* const on = flag == "--verbose" || flag == "-v" ? &options.verbose
                     : flag == "--leader-elect"          ? &options.elect
                     : flag == "--version"               ? &options.version
                     : flag == "--crds"                  ? &options.crds
                     : flag == "--help" || flag == "-h"  ? &options.help
                                                         : nullptr;
    if (text != nullptr && equals != std::string_view::npos) {
      *text = whole.substr(equals + 1);
    } else if (text != nullptr && i + 1 < arguments.size()) {
      *text = arguments[++i];
    } else if (on != nullptr && equals == std::string_view::npos) {
      *on = true;
    } else if (text != nullptr) {
      return mist::error(mist::ErrorKind::Usage, "{} needs a value", flag);
    } else {
      return mist::error(mist::ErrorKind::Usage, "unknown argument {}", mist::escape_controls(whole));
    }
  }
  return options;
}

// Which process this is, on which machine or in which Pod; another one with each start.
std::string identity(mist::Random& random) {
  std::array<std::byte, 8> unlike{};
  random.fill(unlike);
  return fmt::format("{}_{}", mist::host_name(), mist::hex(unlike));
}

mist::http::Answer answer(std::string_view path, const mist::operator_::Metrics& metrics) {
  if (path == "/healthz") return {.status = 200, .body = "ok\n"};
  if (path == "/readyz" && metrics.ready()) return {.status = 200, .body = "ok\n"};
  if (path == "/readyz") return {.status = 503, .body = "not connected yet\n"};
  if (path == "/metrics")
    return {.status = 200,
            .body = metrics.text(),
            .content_type = std::string(mist::operator_::Metrics::kContentType)};
  return {.status = 404, .body = "here are /healthz, /readyz and /metrics\n"};
}

mist::Result<mist::Duration> term_of(const Options& options) {
  const auto term = mist::parse_duration(options.lease_duration);
  if (!term.ok() || *term < kShortestTerm || *term % std::chrono::seconds(1) != mist::Duration::zero())
    return mist::error(mist::ErrorKind::Usage, "--lease-duration {} is not 3s or more, in whole seconds",
                       mist::escape_controls(options.lease_duration));
  return *term;
}

mist::http::ClientOptions web_options() {
  mist::http::ClientOptions options;
  options.user_agent = fmt::format("mistletoe-operator/{}", MIST_VERSION);
  options.proxy_environment =
      mist::http::ProxyEnvironment::from([](const char* name) -> const char* { return std::getenv(name); });
  return options;
}

std::unique_ptr<mist::http::Transport> web_transport(mist::Clock& clock, mist::Random& random, LineLog& log) {
  mist::http::RetryOptions retry;
  retry.peer = "the registry";
  return std::make_unique<mist::http::RetryingClient>(web_options(), clock, random, log, std::move(retry));
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

Result<int> workers_of(std::string_view flag, const std::string& text) {
  constexpr int kMost = 1000;
  int number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault == std::errc() && end == text.data() + text.size() && number >= 1 && number <= kMost)
    return number;
  return mist::error(mist::ErrorKind::Usage, "{} {} is not a number from 1 to {}", flag,
                     mist::escape_controls(text), kMost);
}

Result<std::optional<mist::operator_::TraceOptions>> traces_of(const Options& options) {
  MIST_TRY(auto traces, mist::operator_::TraceOptions::from(options.otlp_endpoint, environment));
  if (!traces) return traces;
  traces->version = MIST_VERSION;
  traces->resource.emplace_back("service.instance.id", mist::host_name());
  return traces;
}

mist::Status run(const Options& options, const mist::Context& context, mist::Pulse& pulse, LineLog& log,
                 mist::Clock& clock, const mist::Path& program) {
  MIST_TRY(const int release_workers, workers_of("--release-workers", options.release_workers));
  MIST_TRY(const int workers, workers_of("--workers", options.workers));
  mist::HostFileSystem files;
  mist::HostProcessRunner processes;
  mist::SystemRandom random;
  MIST_TRY(const mist::config::Paths paths, mist::config::Paths::from_environment(environment, program));
  const mist::kube::ConnectOptions connection{
      .kubeconfig = options.kubeconfig,
      .context = options.context,
      .ns = options.ns,
      .user_agent = mist::kube::user_agent("mistletoe-operator", MIST_VERSION),
      .cache_directory = {}};
  const mist::kube::World outside{.fs = files,
                                  .processes = processes,
                                  .clock = clock,
                                  .random = random,
                                  .events = log,
                                  .getenv = environment};
  MIST_TRY(const std::unique_ptr<mist::kube::RestClient> client, mist::kube::connect(connection, outside));
  mist::kube::ClientPool clients([&](const std::string& user) -> Result<std::shared_ptr<mist::kube::Client>> {
    mist::kube::ConnectOptions impersonating = connection;
    impersonating.as_user = user;
    MIST_TRY(std::unique_ptr<mist::kube::RestClient> as, mist::kube::connect(impersonating, outside));
    return std::shared_ptr<mist::kube::Client>(std::move(as));
  });
  mist::package::RendererOptions engines;
  engines.code_cache = paths.compiled_code();
  engines.engines = mist::package::EngineStore(paths.engines, mist::package::kEngineDigests);
  engines.pulse = &pulse;
  engines.compiler = std::make_shared<mist::wasm::ProcessCompiler>(
      processes, mist::wasm::this_program(program), mist::wasm::CompileLimits{}, context);
  mist::package::Renderer renderer(engines, log);
  log.info(fmt::format("mistletoe-operator {} at {}", MIST_VERSION, client->describe()));
  mist::operator_::Metrics metrics(MIST_VERSION, options.elect ? std::string(kLease) : std::string());
  std::unique_ptr<mist::http::Server> server;
  if (!options.listen.empty()) {
    MIST_TRY(server, mist::http::Server::listen(
                         options.listen, [&](std::string_view path) { return answer(path, metrics); }));
    log.info(fmt::format("serving probes and metrics at {}", server->address()));
  }
  MIST_TRY(std::optional<mist::operator_::TraceOptions> tracing, traces_of(options));
  std::optional<mist::http::Client> collector;
  std::optional<mist::operator_::Traces> traces;
  if (tracing) {
    log.info(fmt::format("sending traces to {}", mist::http::loggable_url(tracing->url)));
    if (tracing->authorization && tracing->url.starts_with("http:"))
      log.warn("the credentials for traces are sent without TLS");
    traces.emplace(
        *std::move(tracing),
        mist::operator_::Traces::World{
            .web = collector.emplace(web_options()), .clock = clock, .random = random, .events = log});
  }
  mist::operator_::Traces* const traced = traces ? &*traces : nullptr;
  if (traced != nullptr) metrics.watch_traces([traced] { return traced->dropped(); });
  std::optional<mist::releases::Controller> releases;
  const mist::releases::Controller::Scope scope{
      .ns = options.releases == "own" ? client->default_namespace() : std::string(),
      .selector = options.release_selector};
  if (!options.releases.empty()) {
    MIST_TRY_VOID(mist::config::check_places(paths));
    releases.emplace(mist::releases::World{
                         .files = files,
                         .processes = processes,
                         .clock = clock,
                         .random = random,
                         .events = log,
                         .paths = paths,
                         .oci = {.transport = [&] { return web_transport(clock, random, log); },
                                 .environment = environment},
                         .transport = [&] { return std::make_unique<mist::http::Client>(web_options()); },
                         .engines = engines,
                         .holder = fmt::format("mistletoe-operator@{} pid {}", mist::host_name(), ::getpid()),
                         .client = *client,
                         .client_of = [&clients](const std::string& user) { return clients.of(user); },
                         .ns = client->default_namespace(),
                         .default_account = options.default_account,
                         .traces = traced},
                     metrics, scope, release_workers);
  }
  const auto work = [&](const mist::Context& ours) {
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
         .workers = workers,
         .not_kept =
             [&](const mist::encoding::Value& release) {
               return releases
                          ? mist::releases::Controller::why_not_kept(scope, release)
                          : std::string("this operator looks at no Releases: start it with --releases all");
             }},
        client->default_namespace());
    if (options.releases.empty()) return controller.run(ours);
    return beside(
        ours, [&](const mist::Context& both) { return controller.run(both); },
        [&](const mist::Context& both) { return releases->run(both); });
  };
  if (!options.elect) return work(context);
  MIST_TRY(const mist::Duration term, term_of(options));
  const mist::kube::LeaderOptions election{.ns = client->default_namespace(),
                                           .name = std::string(kLease),
                                           .identity = identity(random),
                                           .term = term,
                                           .retry = std::min<mist::Duration>(term * 2 / 15, kLongestRetry),
                                           .leads = [&](bool leads) { metrics.leads(leads); }};
  // A replica that waits is as ready as it has to be.
  metrics.is_ready(true);
  return mist::kube::lead(*client, clock, log, election, work, context);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == mist::wasm::kCompileVerb)
    return mist::wasm::run_compiler(std::span(argv, static_cast<std::size_t>(argc)).subspan(2));
  mist::Interrupt interrupt;
  const auto options = parse(std::span(argv, static_cast<std::size_t>(argc)).subspan(argc > 0 ? 1 : 0));
  if (!options.ok()) {
    print_to(2, fmt::format("error: {}\n\n{}", options.error().message, kUsage));
    return 2;
  }
  if (!options->default_account.empty() && !mist::is_dns1123_subdomain(options->default_account)) {
    print_to(2, fmt::format("error: --default-service-account \"{}\" is not the name of a ServiceAccount\n",
                            mist::escape_controls(options->default_account)));
    return 2;
  }
  mist::Status usable;
  if (const auto term = term_of(*options); !term.ok()) usable = term.error();
  for (const auto& [flag, text] :
       {std::pair("--release-workers", options->release_workers), std::pair("--workers", options->workers)})
    if (const auto workers = workers_of(flag, text); usable && !workers.ok()) usable = workers.error();
  if (const auto traces = traces_of(*options); usable && !traces.ok()) usable = traces.error();
  if (usable && !options->releases.empty() && options->releases != "own" && options->releases != "all")
    usable = mist::error(mist::ErrorKind::Usage, "--releases {} is neither own nor all",
                         mist::escape_controls(options->releases));
  if (!usable) {
    print_to(2, fmt::format("error: {}\n", usable.error().message));
    return 2;
  }
  if (options->help || options->version || options->crds) {
    print_to(1, options->help   ? std::string(kUsage)
                : options->crds ? std::string(mist::releases::definition_text())
                                : fmt::format("mistletoe-operator {}\n", MIST_VERSION));
    return 0;
  }
  mist::SystemClock clock;
  LineLog log(clock, options->verbose);
  std::error_code failed;
  const mist::Path program = std::filesystem::read_symlink("/proc/self/exe", failed);
  const mist::Status done =
      run(*options, mist::Context(interrupt.token()), interrupt.pulse(), log, clock, program);
  if (done.ok() || interrupt.token().stop_requested()) return 0;
  print_to(2, fmt::format("error: {}\n", mist::escape_controls(done.error().to_line())));
  return 1;
}
