#include "operator/options.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/duration.h"
#include "base/text.h"
#include "encoding/json.h"
#include "encoding/yaml.h"
#include "http/url.h"

namespace mist::operator_ {
namespace {

using encoding::Value;

constexpr std::string_view kUsage = R"(usage: mistletoe-operator [flags]

Keeps the objects of blueprints, and releases of packages, as they are wanted. docs/operator.md explains
blueprints, docs/release-resource.md the custom resource Release.

  --config FILE       read these flags from a file too, as leaderElect: true; the command line wins
  --kubeconfig FILE   the cluster; without it KUBECONFIG, ~/.kube/config, or the Pod's service account
  --context NAME      of the kubeconfig; its current one
  -n, --namespace NS  where the ConfigMaps with blueprints are; the context's
  --watch-namespace NS
                      work only there; may be repeated. Instances, what they own and read, and Releases are
                      watched in these namespaces, and Roles in them are enough
  --listen ADDRESS    serve /healthz, /readyz and /metrics there: 127.0.0.1:8080, [::1]:8080, or :8080 for
                      every address of the Pod
  --otlp-endpoint URL send traces to this OpenTelemetry collector, by HTTP: http://collector:4318. Without
                      it the variables OTEL_EXPORTER_OTLP_… say where, if they are set
  --leader-elect      of several replicas only one works: the holder of the Lease mistletoe-operator in the
                      namespace of the blueprints; when it is silent, another takes over
  --sharding          several replicas work at the same time: they divide the namespaces of instances and
                      Releases among them, and take over those of one that is silent; by Leases there too
  --lease-duration D  for how long one may be silent (15s); whole seconds, 3s at least
  --default-service-account NAME
                      act for blueprints without the annotation mistletoe.dev/service-account, and for
                      Releases without serviceAccountName, as this ServiceAccount of the same namespace;
                      without it, as the operator itself, but for Releases of other namespaces
  --releases WHERE    keep Releases too: those of its own namespace (own), or of every one (all)
  --release-selector S
                      of these only those with matching labels (team=a,env!=dev)
  --release-workers N look at that many Releases at once, of one namespace a quarter (16)
  --workers N         write to that many instances of blueprints at once (8)
  --webhook-listen ADDRESS
                      convert objects between the versions of blueprints' kinds there, for the API server: :9443
  --webhook-service NAME
                      the Service of the operator's namespace that leads there, with port 443 (mistletoe-operator)
  --webhook-url URL   in place of a Service: https://10.0.0.1:9443
  --webhook-cert FILE, --webhook-key FILE
                      the webhook's certificate and key, in PEM, read again when they change; without them the
                      operator makes a certificate and keeps it in the Secret SERVICE-webhook
  --webhook-ca FILE   whom the API server trusts for that certificate; without it, its own authorities
  --limit-memory MIB  memory that evaluating a blueprint or rendering a package may use, as in mistctl (512; a
                      package that is a module 256)
  --limit-time TIME   processor time that one of these may use, as in mistctl (60s; a module 10s)
  --log-format F      text, or json: an object with time, level, msg and what it is about in each line
  -v, --verbose       say more
  --crds              print the CustomResourceDefinition of Release, for kubectl apply -f -
  --version           print the version
  -h, --help          print this
)";

struct TextOption {
  std::string_view flag, key;
  std::string Options::* member;
};
constexpr TextOption kTexts[] = {
    {"--kubeconfig", "kubeconfig", &Options::kubeconfig},
    {"--context", "context", &Options::context},
    {"--namespace", "namespace", &Options::ns},
    {"--listen", "listen", &Options::listen},
    {"--otlp-endpoint", "otlpEndpoint", &Options::otlp_endpoint},
    {"--lease-duration", "leaseDuration", &Options::lease_duration},
    {"--default-service-account", "defaultServiceAccount", &Options::default_account},
    {"--releases", "releases", &Options::releases},
    {"--release-selector", "releaseSelector", &Options::release_selector},
    {"--release-workers", "releaseWorkers", &Options::release_workers},
    {"--workers", "workers", &Options::workers},
    {"--limit-memory", "limitMemory", &Options::memory_limit},
    {"--limit-time", "limitTime", &Options::time_limit},
    {"--log-format", "logFormat", &Options::log_format},
    {"--webhook-listen", "webhookListen", &Options::webhook_listen},
    {"--webhook-service", "webhookService", &Options::webhook_service},
    {"--webhook-url", "webhookUrl", &Options::webhook_url},
    {"--webhook-cert", "webhookCert", &Options::webhook_certificate},
    {"--webhook-key", "webhookKey", &Options::webhook_key},
    {"--webhook-ca", "webhookCa", &Options::webhook_authority},
};

// May be given several times; lists in a file.
struct ListOption {
  std::string_view flag, key;
  std::vector<std::string> Options::* member;
};
constexpr ListOption kLists[] = {
    {"--watch-namespace", "watchNamespaces", &Options::watch_namespaces},
};

struct SwitchOption {
  std::string_view flag, key;  ///< without a key: not in a file
  bool Options::* member;
};
constexpr SwitchOption kSwitches[] = {
    {"--leader-elect", "leaderElect", &Options::elect},
    {"--sharding", "sharding", &Options::sharding},
    {"--verbose", "verbose", &Options::verbose},
    {"--crds", "", &Options::crds},
    {"--version", "", &Options::version},
    {"--help", "", &Options::help},
};

constexpr std::string_view kConfigFlag = "--config";
constexpr std::uint64_t kLargestConfig = std::uint64_t{1} << 20;
constexpr std::chrono::seconds kShortestTerm{3};
constexpr int kMostWorkers = 1000;
constexpr int kMostMemory = 4096;  // MiB; a guest has addresses of 32 bits

std::string_view long_name(std::string_view flag) {
  return flag == "-n" ? "--namespace" : flag == "-v" ? "--verbose" : flag == "-h" ? "--help" : flag;
}

std::optional<bool> truth_of(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return std::nullopt;
}

std::optional<int> number_in(const std::string& text, int most) {
  int number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_one = failed == std::errc() && end == text.data() + text.size();
  return is_one && number >= 1 && number <= most ? std::optional(number) : std::nullopt;
}

std::optional<int> workers_in(const std::string& text) { return number_in(text, kMostWorkers); }

std::optional<Duration> positive_time_in(const std::string& text) {
  const auto time = parse_duration(text);
  return time.ok() && *time > Duration::zero() ? std::optional(*time) : std::nullopt;
}

std::optional<Duration> term_in(const std::string& text) {
  const auto term = parse_duration(text);
  if (!term.ok() || *term < kShortestTerm || *term % std::chrono::seconds(1) != Duration::zero())
    return std::nullopt;
  return *term;
}

// "https://host:9443", and nothing after it.
bool is_webhook_url(std::string_view text) {
  const auto url = http::Url::parse(text);
  return url && url->scheme == "https" &&
         (text == url->origin() || text == fmt::format("https://{}", url->authority()));
}

Status check_webhook(const Options& options) {
  for (const auto& [flag, text] : {std::pair("--webhook-url", options.webhook_url),
                                   std::pair("--webhook-cert", options.webhook_certificate),
                                   std::pair("--webhook-key", options.webhook_key),
                                   std::pair("--webhook-ca", options.webhook_authority)})
    if (!text.empty() && options.webhook_listen.empty())
      return error(ErrorKind::Usage, "{} needs --webhook-listen", flag);
  if (options.webhook_certificate.empty() != options.webhook_key.empty())
    return error(ErrorKind::Usage, "--webhook-cert and --webhook-key need each other");
  if (!options.webhook_authority.empty() && options.webhook_certificate.empty())
    return error(ErrorKind::Usage, "--webhook-ca needs --webhook-cert");
  if (!options.webhook_url.empty() && !is_webhook_url(options.webhook_url))
    return error(ErrorKind::Usage, "--webhook-url {} is not https:// with a host, and perhaps a port",
                 escape_controls(options.webhook_url));
  if (!is_dns1123_label(options.webhook_service))
    return error(ErrorKind::Usage, "--webhook-service {} is not the name of a Service",
                 escape_controls(options.webhook_service));
  return {};
}

Status check(const Options& options) {
  const auto wrong = [](std::string_view flag, const std::string& value, std::string_view what) {
    return error(ErrorKind::Usage, "{} {} is {}", flag, escape_controls(value), what);
  };
  if (!term_in(options.lease_duration))
    return wrong("--lease-duration", options.lease_duration, "not 3s or more, in whole seconds");
  for (const auto& [flag, text] :
       {std::pair("--release-workers", options.release_workers), std::pair("--workers", options.workers)})
    if (!workers_in(text)) return wrong(flag, text, fmt::format("not a number from 1 to {}", kMostWorkers));
  if (!options.memory_limit.empty() && !number_in(options.memory_limit, kMostMemory))
    return wrong("--limit-memory", options.memory_limit,
                 fmt::format("not a number of MiB from 1 to {}", kMostMemory));
  if (!options.time_limit.empty() && !positive_time_in(options.time_limit))
    return wrong("--limit-time", options.time_limit, "not a time above 0, such as 90s");
  if (options.sharding && options.elect)
    return error(ErrorKind::Usage, "--sharding and --leader-elect exclude each other")
        .with_hint(
            "of replicas that share the namespaces one is the first by itself: leave --leader-elect out");
  if (!options.releases.empty() && options.releases != "own" && options.releases != "all")
    return wrong("--releases", options.releases, "neither own nor all");
  if (options.log_format != "text" && options.log_format != "json")
    return wrong("--log-format", options.log_format, "neither text nor json");
  MIST_TRY_VOID(check_webhook(options));
  for (const std::string& ns : options.watch_namespaces)
    if (!is_dns1123_label(ns)) return wrong("--watch-namespace", ns, "not the name of a namespace");
  if (!options.default_account.empty() && !is_dns1123_subdomain(options.default_account))
    return wrong("--default-service-account", options.default_account, "not the name of a ServiceAccount");
  return {};
}

// One member of the file.
Status take(Options& options, const Value::Member& member) {
  if (const auto* text = std::ranges::find(kTexts, member.key, &TextOption::key); text != std::end(kTexts)) {
    if (!member.value.is_string() && !member.value.is_number())
      return error(ErrorKind::Invalid, "{} is not text", member.key);
    options.*text->member =
        member.value.is_string() ? member.value.as_string() : encoding::to_json(member.value);
    return {};
  }
  const auto* on = std::ranges::find(kSwitches, member.key, &SwitchOption::key);
  if (on != std::end(kSwitches) && !member.key.empty()) {
    if (!member.value.is_bool()) return error(ErrorKind::Invalid, "{} is neither true nor false", member.key);
    options.*on->member = member.value.as_bool();
    return {};
  }
  if (const auto* list = std::ranges::find(kLists, member.key, &ListOption::key); list != std::end(kLists)) {
    const auto is_text = [](const Value& each) { return each.is_string(); };
    if (!member.value.is_array() || !std::ranges::all_of(member.value.as_array(), is_text))
      return error(ErrorKind::Invalid, "{} is not a list of texts", member.key);
    for (const Value& each : member.value.as_array()) (options.*list->member).push_back(each.as_string());
    return {};
  }
  std::vector<std::string_view> known;
  for (const TextOption& each : kTexts) known.push_back(each.key);
  for (const ListOption& each : kLists) known.push_back(each.key);
  for (const SwitchOption& each : kSwitches) known.push_back(each.key);
  Error unknown = error(ErrorKind::Invalid, "there is no \"{}\"", escape_controls(member.key));
  if (const std::string_view near = nearest(member.key, known); !near.empty())
    unknown.hint = fmt::format("did you mean {}?", near);
  return unknown;
}

Status read_config(Options& options, const Path& file, const FileSystem& files) {
  const std::string frame = fmt::format("while reading {}", escape_controls(file.string()));
  MIST_TRY(const std::string text, files.read(file, kLargestConfig).in(frame));
  MIST_TRY(const Value document,
           encoding::parse_yaml(text, {.strict = true, .file = file.string()}).in(frame));
  if (document.string_at("apiVersion") != "mistletoe.dev/v1" ||
      document.string_at("kind") != "OperatorConfig")
    return error(ErrorKind::Invalid, "{} is no configuration of the operator", escape_controls(file.string()))
        .with_hint("begin it with apiVersion: mistletoe.dev/v1 and kind: OperatorConfig");
  for (const Value::Member& member : document.as_object()) {
    if (member.key == "apiVersion" || member.key == "kind" || member.key == "metadata") continue;
    const encoding::Position at = member.value.position();
    if (Status taken = take(options, member); !taken)
      return std::move(taken).error().at(
          {.file = file.string(), .line = at.line, .column = at.column, .excerpt = {}});
  }
  return {};
}

struct Argument {
  std::string_view flag;
  std::optional<std::string_view> value;
};

// Calls `each` with what is told of each flag. `each` says whether it takes the next argument as its value.
template <typename Each>
Status for_arguments(std::span<const std::string_view> arguments, const Each& each) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view whole = arguments[i];
    const auto equals = whole.starts_with("--") ? whole.find('=') : std::string_view::npos;
    Argument told{long_name(whole.substr(0, equals)), std::nullopt};
    const bool takes_value = told.flag == kConfigFlag ||
                             std::ranges::find(kTexts, told.flag, &TextOption::flag) != std::end(kTexts) ||
                             std::ranges::find(kLists, told.flag, &ListOption::flag) != std::end(kLists);
    if (equals != std::string_view::npos)
      told.value = whole.substr(equals + 1);
    else if (takes_value && i + 1 < arguments.size())
      told.value = arguments[++i];
    else if (takes_value)
      return error(ErrorKind::Usage, "{} needs a value", told.flag);
    MIST_TRY_VOID(each(told, whole));
  }
  return {};
}

}  // namespace

std::string_view usage() { return kUsage; }

Duration Options::term() const { return term_in(lease_duration).value_or(kShortestTerm); }
int Options::release_worker_count() const { return workers_in(release_workers).value_or(1); }
int Options::worker_count() const { return workers_in(workers).value_or(1); }

void Options::set_limits(package::RendererOptions& renderer) const {
  const auto memory = number_in(memory_limit, kMostMemory);
  const auto time = positive_time_in(time_limit);
  for (wasm::Limits* const each : {&renderer.limits, &renderer.engine_limits}) {
    if (memory) each->memory_bytes = static_cast<std::uint64_t>(*memory) << 20;
    if (time) each->guest_time = *time;
    each->flags = wasm::LimitFlags::MemoryAndTime;
  }
}

Result<Options> parse_options(std::span<const std::string_view> arguments, const FileSystem& files) {
  Options options;
  MIST_TRY_VOID(for_arguments(arguments, [&](const Argument& told, std::string_view) -> Status {
    return told.flag == kConfigFlag ? read_config(options, Path(*told.value), files) : Status();
  }));
  std::set<std::string_view> lists;  // that the command line has begun in place of the file's
  MIST_TRY_VOID(for_arguments(arguments, [&](const Argument& told, std::string_view whole) -> Status {
    if (told.flag == kConfigFlag) return {};
    if (const auto* text = std::ranges::find(kTexts, told.flag, &TextOption::flag);
        text != std::end(kTexts)) {
      options.*text->member = *told.value;
      return {};
    }
    if (const auto* list = std::ranges::find(kLists, told.flag, &ListOption::flag);
        list != std::end(kLists)) {
      if (lists.insert(list->flag).second) (options.*list->member).clear();
      (options.*list->member).emplace_back(*told.value);
      return {};
    }
    const auto* on = std::ranges::find(kSwitches, told.flag, &SwitchOption::flag);
    const std::optional<bool> truth = truth_of(told.value.value_or("true"));
    if (on == std::end(kSwitches) || !truth)
      return error(ErrorKind::Usage, "unknown argument {}", escape_controls(whole));
    options.*on->member = *truth;
    return {};
  }));
  MIST_TRY_VOID(check(options));
  return options;
}

}  // namespace mist::operator_
