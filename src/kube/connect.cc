#include "kube/connect.h"

#include <map>
#include <utility>

#include "base/text.h"
#include "base/url.h"
#include "http/url.h"
#include "kube/auth_transport.h"
#include "kube/cluster_ca.h"
#include "kube/credentials.h"
#include "kube/in_cluster.h"

namespace mist::kube {
namespace {

// One HTTP client, below it what the retries must not take for an outage.
class CorrectingClient final : public http::Transport {
 public:
  using Exchanged = std::function<void(std::string_view method, int status)>;

  CorrectingClient(http::ClientOptions options, Exchanged exchanged)
      : client_(std::move(options)), exchanged_(std::move(exchanged)) {}

  Result<http::Response> send(const http::Request& request, const Context& context) override {
    auto response = client_.send(request, context);
    if (response) correct_status(*response);
    if (exchanged_) exchanged_(request.method, response ? response->status : 0);
    return response;
  }
  // A watch lasts for minutes: its answer counts once there is a piece of it, which only a good one has.
  Result<http::Response> stream(const http::Request& request, const http::BodyPiece& piece,
                                const Context& context) override {
    if (!exchanged_) return client_.stream(request, piece, context);
    bool is_counted = false;
    auto response = client_.stream(
        request,
        [&](std::string_view body) {
          if (!std::exchange(is_counted, true)) exchanged_(request.method, kOk);
          return piece(body);
        },
        context);
    if (!is_counted) exchanged_(request.method, response ? response->status : 0);
    return response;
  }

 private:
  static constexpr int kOk = 200;

  http::Client client_;
  const Exchanged exchanged_;
};

class RetryingClient final : public http::Transport {
 public:
  RetryingClient(http::ClientOptions options, const http::RetryOptions& retry,
                 const ConnectDependencies& dependencies)
      : client_(std::move(options), dependencies.exchanged),
        retrying_(client_, dependencies.clock, dependencies.random, dependencies.events, retry) {}

  Result<http::Response> send(const http::Request& request, const Context& context) override {
    return retrying_.send(request, context);
  }
  Result<http::Response> stream(const http::Request& request, const http::BodyPiece& piece,
                                const Context& context) override {
    return retrying_.stream(request, piece, context);
  }

 private:
  CorrectingClient client_;
  http::RetryingTransport retrying_;
};

// As client-go: an address without scheme is https when anything about TLS is set.
Result<http::Url> server_url(const ResolvedContext& context) {
  const ClusterEntry& cluster = context.cluster;
  std::string address = cluster.server;
  if (!is_url(address)) {
    const bool tls = cluster.insecure_skip_tls_verify || !cluster.ca_pem.empty() ||
                     !cluster.certificate_authority.empty() || !context.user.client_certificate.empty() ||
                     !context.user.client_certificate_pem.empty();
    address = (tls ? "https://" : "http://") + address;
  }
  auto url = http::Url::parse(address);
  if (!url)
    return std::move(url)
        .error()
        .with_frame(fmt::format("in server of the cluster \"{}\"", cluster.name))
        .at(cluster.where);
  if (!url->user.empty() || !url->query.empty())
    return error(ErrorKind::Invalid, "server of the cluster \"{}\" must be scheme, host, port and path only",
                 cluster.name)
        .at(cluster.where);
  return url;
}

// Anybody on the way can read the credentials, which prove who the user is, and use them. Between programs of
// one machine, as with a `kubectl proxy`, nobody is on the way.
void warn_of_plain_credentials(const ResolvedContext& context, const http::Url& url, EventSink& events) {
  const UserEntry& user = context.user;
  const bool has_any = !user.token.empty() || !user.token_file.empty() || !user.password.empty() || user.exec;
  const bool is_here = url.host == "localhost" || url.host == "::1" || url.host.starts_with("127.");
  if (url.scheme != "http" || is_here || !has_any) return;
  events.warn(fmt::format(
      "the credentials of the user \"{}\" go to {} over plain http, where anybody on the way can read "
      "them: give the cluster \"{}\" an https server",
      escape_controls(user.name), url.origin(), escape_controls(context.cluster.name)));
}

std::string identity_of(const ResolvedContext& context, const std::string& server,
                        const std::string& ca_pem) {
  const UserEntry& user = context.user;
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", server, context.cluster.tls_server_name,
                     context.cluster.proxy_url, user.name, user.impersonation.user, ca_pem);
}

std::shared_ptr<ClusterCa> ca_of(const ClusterEntry& cluster, const std::string& pem,
                                 const ConnectDependencies& dependencies) {
  const bool is_in_file = cluster.ca_pem.empty() && !cluster.certificate_authority.empty();
  if (!is_in_file) return std::make_shared<ClusterCa>(pem);
  return std::make_shared<ClusterCa>([cluster, &fs = dependencies.fs] { return read_ca(cluster, fs); }, pem,
                                     dependencies.clock);
}

// Nobody can be impersonated by somebody who is impersonated.
Result<ResolvedContext> impersonating(ResolvedContext context, const std::string& user) {
  if (user.empty()) return context;
  if (!context.user.impersonation.user.empty())
    return error(ErrorKind::Invalid,
                 "\"{}\" can't act as {}: the user \"{}\" of the kubeconfig impersonates {}",
                 context.user.impersonation.user, user, context.user.name, context.user.impersonation.user)
        .with_hint("use a kubeconfig without \"as\"");
  context.user.impersonation.user = user;
  return context;
}

}  // namespace

std::string user_agent(std::string_view program, std::string_view version) {
#if defined(__aarch64__)
  constexpr std::string_view kMachine = "arm64";
#elif defined(__x86_64__)
  constexpr std::string_view kMachine = "amd64";
#else
  constexpr std::string_view kMachine = "unknown";
#endif
  return fmt::format("{}/{} (linux/{})", program, version, kMachine);
}

Result<ResolvedContext> resolve_context(const ConnectOptions& options,
                                        const ConnectDependencies& dependencies) {
  const KubeconfigFiles files = KubeconfigFiles::choose(options.kubeconfig, dependencies.getenv);
  MIST_TRY(const Kubeconfig config, Kubeconfig::load(files, dependencies.fs));
  if (config.empty() && options.context.empty()) {
    if (!files.must_exist) {
      MIST_TRY(std::optional<ResolvedContext> pod, in_cluster_context(dependencies.fs, dependencies.getenv));
      if (pod) {
        if (!options.ns.empty()) pod->ns = options.ns;
        return impersonating(*std::move(pod), options.as_user);
      }
    }
    std::vector<std::string> looked;
    for (const Path& path : files.paths) looked.push_back(path.string());
    return error(ErrorKind::NotFound, "no cluster is configured: {}",
                 looked.empty() ? dependencies.getenv("KUBECONFIG").value_or("").empty()
                                      ? "neither KUBECONFIG nor HOME is set"
                                      : "KUBECONFIG names no file"
                                : fmt::format("there is no configuration in {}", join(looked, ", ")))
        .with_hint("give --kubeconfig, or set KUBECONFIG to the file of your cluster");
  }
  MIST_TRY(ResolvedContext context, config.resolve(options.context));
  if (!options.ns.empty()) context.ns = options.ns;
  return impersonating(std::move(context), options.as_user);
}

Result<std::unique_ptr<RestClient>> connect(const ConnectOptions& options,
                                            const ConnectDependencies& dependencies) {
  MIST_TRY(const ResolvedContext context, resolve_context(options, dependencies));
  MIST_TRY(const http::Url url, server_url(context));
  warn_of_plain_credentials(context, url, dependencies.events);
  MIST_TRY(const std::string ca_pem, read_ca(context.cluster, dependencies.fs));
  const std::shared_ptr<ClusterCa> ca = ca_of(context.cluster, ca_pem, dependencies);
  MIST_TRY(auto credentials, make_credentials(context, ca,
                                              {.fs = dependencies.fs,
                                               .processes = dependencies.processes,
                                               .clock = dependencies.clock,
                                               .events = dependencies.events,
                                               .interactive_terminal = dependencies.interactive_terminal}));
  http::ClientOptions client = options.http;
  client.tls.server_name = context.cluster.tls_server_name;
  client.tls.insecure_skip_verify = context.cluster.insecure_skip_tls_verify;
  client.proxy_url = context.cluster.proxy_url;
  client.compression = !context.cluster.disable_compression;
  client.user_agent = options.user_agent;
  std::map<std::string, std::string> proxy_variables;  // keeps what the lookup points to
  client.proxy_environment = http::ProxyEnvironment::from([&](const char* name) -> const char* {
    auto found = dependencies.getenv(name);
    return found ? (proxy_variables[name] = *std::move(found)).c_str() : nullptr;
  });

  auto make = [client, retry = options.retry, dependencies](const AuthTransport::Identity& identity) {
    http::ClientOptions identified = client;
    identified.tls.ca_pem = identity.ca_pem;
    identified.tls.client_certificate_pem = identity.certificate_pem;
    identified.tls.client_key_pem = identity.key_pem;
    return std::make_shared<RetryingClient>(std::move(identified), retry, dependencies);
  };
  auto transport = std::make_shared<AuthTransport>(std::move(credentials), ca, std::move(make),
                                                   context.user.impersonation, dependencies.clock);

  std::string server = url.str();
  while (server.ends_with('/')) server.pop_back();
  RestOptions rest;
  rest.server = server;
  rest.context = context.name;
  rest.user = context.user.name;
  rest.cluster_words = cluster_words(options.context, options.kubeconfig);
  rest.default_namespace = context.ns;
  rest.request_timeout = options.request_timeout;
  if (!options.cache_directory.empty())
    rest.discovery_cache = {options.cache_directory, identity_of(context, server, ca_pem)};
  return std::make_unique<RestClient>(std::move(transport), std::move(rest),
                                      RestClient::Dependencies{.fs = dependencies.fs,
                                                               .clock = dependencies.clock,
                                                               .random = dependencies.random,
                                                               .events = dependencies.events});
}

std::string cluster_words(std::string_view context, std::string_view kubeconfig) {
  std::string words;
  for (const auto& [flag, value] : {std::pair("context", context), std::pair("kubeconfig", kubeconfig)})
    if (!value.empty()) words += fmt::format(" --{} {}", flag, shell_word(value));
  return words;
}

}  // namespace mist::kube
