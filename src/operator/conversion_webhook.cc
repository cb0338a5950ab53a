#include "operator/conversion_webhook.h"

#include "base/text.h"
#include "encoding/json.h"
#include "http/client.h"
#include "http/url.h"
#include "operator/log_fields.h"

namespace mist::operator_ {
namespace {

constexpr std::string_view kConvertPath = "/convert/";
constexpr std::string_view kJson = "application/json";
// More than all objects of a page that the API server reads at once.
constexpr std::uint64_t kMostBody = 64u << 20;
// Most of them wait until others' objects are converted.
constexpr std::size_t kHandlers = 128;
// The API server closes its connections after 90 s without a request; it would not repeat one that is lost
// here.
constexpr std::chrono::minutes kIdle{5};
constexpr std::chrono::seconds kBodyTime{30}, kProbeTime{3};
constexpr int kPort = 443;
// Of the log, about failures of one blueprint.
constexpr std::chrono::minutes kBetweenLines{1};

}  // namespace

ConversionWebhook::ConversionWebhook(Dependencies dependencies, Options options, std::string ns)
    : dependencies_(dependencies),
      options_(std::move(options)),
      ns_(std::move(ns)),
      conversions_({dependencies.client, dependencies.renderer, dependencies.clock, dependencies.events},
                   ns_),
      certificates_({dependencies.client, dependencies.files, dependencies.clock, dependencies.random,
                     dependencies.events},
                    [this] { tell_change(); }) {}

ConversionWebhook::~ConversionWebhook() { stop_.request_stop(); }

void ConversionWebhook::tell_change() {
  const std::lock_guard lock(mutex_);
  if (changed_) changed_();
}

// Of the URL, or of the Service as the API server calls it.
std::string ConversionWebhook::host() const {
  if (options_.url.empty()) return fmt::format("{}.{}.svc", options_.service, ns_);
  return http::Url::parse(options_.url).value_or({}).host;
}

std::string ConversionWebhook::url_of(const std::string& blueprint) const {
  const std::string base = options_.url.empty() ? fmt::format("https://{}:{}", host(), kPort) : options_.url;
  return base + std::string(kConvertPath) + blueprint;
}

Status ConversionWebhook::start(const Context& context) {
  if (options_.given)
    MIST_TRY_VOID(certificates_.use(*options_.given));
  else
    MIST_TRY_VOID(certificates_.keep({ns_, options_.service + "-webhook", {host()}}, context));
  MIST_TRY_VOID(conversions_.start([this] { tell_change(); }, context));
  http::WebServerOptions server;
  server.handlers = kHandlers;
  server.body_bytes = kMostBody;
  server.patience = kBodyTime;
  server.idle = kIdle;
  server.tls = &certificates_.tls();
  MIST_TRY(server_, http::WebServer::listen(options_.listen, server, [this](const http::WebRequest& request) {
             return answer(request);
           }));
  renewing_ = std::jthread([this](const std::stop_token& stop) { certificates_.run(stop); });
  dependencies_.events.info(fmt::format("serving the conversion webhook at {}", server_->address()));
  return {};
}

Value ConversionWebhook::strategy(const std::string& blueprint) const {
  Value client = Value::object();
  if (options_.url.empty())
    client.set("service", Value::object({{"namespace", ns_},
                                         {"name", options_.service},
                                         {"path", std::string(kConvertPath) + blueprint},
                                         {"port", kPort}}));
  else
    client.set("url", url_of(blueprint));
  if (const std::string authorities = certificates_.authorities(); !authorities.empty())
    client.set("caBundle", base64_encode(authorities));
  return Value::object({{"strategy", "Webhook"},
                        {"webhook", Value::object({{"clientConfig", std::move(client)},
                                                   {"conversionReviewVersions", Value::array({"v1"})}})}});
}

// A review of no objects, which needs everything but the functions.
Status ConversionWebhook::check_answers(const Conversion& conversion, const Context& context) const {
  constexpr std::string_view kUid = "mistletoe-operator";
  http::ClientOptions options;
  options.tls.ca_pem = certificates_.authorities();
  http::Client client(options);
  const std::string url = url_of(conversion.blueprint);
  const auto silent = [&](std::string because) {
    return error(ErrorKind::NotFound, "the conversion webhook doesn't answer at {}", url)
        .with_because(std::move(because))
        .with_hint(
            options_.url.empty()
                ? fmt::format("Service {}/{} has to lead from port {} to --webhook-listen; it is asked again",
                              ns_, options_.service, kPort)
                : std::string("--webhook-url has to lead to --webhook-listen; it is asked again"));
  };
  const Value review =
      Value::object({{"apiVersion", "apiextensions.k8s.io/v1"},
                     {"kind", "ConversionReview"},
                     {"request", Value::object({{"uid", kUid},
                                                {"desiredAPIVersion", conversion.hub.api_version()},
                                                {"objects", Value::array()}})}});
  const auto answer = client.send({.method = "POST",
                                   .url = url,
                                   .headers = {{"Content-Type", std::string(kJson)}},
                                   .body = encoding::to_json(review),
                                   .response_limit = 1u << 16},
                                  context.with_timeout(kProbeTime));
  if (!answer.ok()) return silent(answer.error().to_line());
  if (answer->status != 200) return silent(fmt::format("the answer is HTTP {}", answer->status));
  const auto said = encoding::parse_json(answer->body);
  if (!said.ok() || said->string_at({"response", "uid"}) != kUid)
    return silent("the answer is no ConversionReview");
  if (said->string_at({"response", "result", "status"}) != "Success")
    return silent(escape_controls(said->string_at({"response", "result", "message"})));
  return {};
}

void ConversionWebhook::watch(std::function<void()> changed) {
  const std::lock_guard lock(mutex_);
  changed_ = std::move(changed);
}

http::WebAnswer ConversionWebhook::answer(const http::WebRequest& request) {
  if (!request.path.starts_with(kConvertPath)) return {.status = 404, .body = "here is /convert/BLUEPRINT\n"};
  if (request.method != "POST") return {.status = 405, .body = "only POST\n", .headers = {{"Allow", "POST"}}};
  const SteadyTime begun = dependencies_.clock.steady_now();
  const std::string blueprint = request.path.substr(kConvertPath.size());
  const std::string kind = conversions_.kind_of(blueprint);
  const bool is_known = !kind.empty();
  std::optional<Metrics::Answering> counted;
  if (dependencies_.metrics != nullptr)
    counted.emplace(*dependencies_.metrics, is_known ? request.path : std::string(kConvertPath));
  http::WebAnswer given;
  if (const auto review = ConversionReview::parse(request.body); review.ok()) {
    given = converted_by(blueprint, kind, *review);
  } else {
    tell_failure(is_known ? blueprint : std::string(), review.error());
    given = {.status = 400, .body = review.error().to_line() + "\n"};
  }
  if (counted) counted->ends(given.status, dependencies_.clock.steady_now() - begun);
  return given;
}

// `kind`: of the blueprint; empty: it isn't known.
http::WebAnswer ConversionWebhook::converted_by(const std::string& blueprint, const std::string& kind,
                                                const ConversionReview& review) {
  const SteadyTime begun = dependencies_.clock.steady_now();
  auto objects = conversions_.convert(blueprint, review, Context(stop_.get_token()));
  if (dependencies_.metrics != nullptr && !kind.empty())
    dependencies_.metrics->converted(blueprint, kind, objects.ok(), review.objects.size(),
                                     dependencies_.clock.steady_now() - begun);
  if (objects.ok())
    return {.content_type = std::string(kJson), .body = converted_answer(review.uid, *std::move(objects))};
  tell_failure(kind.empty() ? std::string() : blueprint, objects.error());
  return {.content_type = std::string(kJson), .body = failed_answer(review.uid, objects.error())};
}

// Clients ask again and again, and whoever reaches the webhook may ask for anything: of each blueprint a line
// now and then, and one for all that aren't known.
void ConversionWebhook::tell_failure(const std::string& blueprint, const Error& failure) {
  std::string line = "a conversion failed: " + failure.to_line();
  const SteadyTime now = dependencies_.clock.steady_now();
  {
    const std::lock_guard lock(told_mutex_);
    const auto [told, is_first] = told_.try_emplace(blueprint, Told{now});
    if (!is_first && now - told->second.at < kBetweenLines) {
      ++told->second.more;
      return;
    }
    if (told->second.more > 0)
      line += fmt::format(" ({} more failed since the last line about it)", told->second.more);
    told->second = {now};
  }
  if (blueprint.empty())
    dependencies_.events.warn(line);
  else
    dependencies_.events.warn(line, fields_of({blueprint}, Named::No));
}

}  // namespace mist::operator_
