#include "operator/traces.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "encoding/json.h"
#include "http/url.h"

namespace mist::operator_ {
namespace {

using encoding::Value;
using Pairs = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t kBatch = 512;
constexpr std::size_t kMostText = 1024;    // of one value
constexpr std::size_t kMostDoublings = 5;  // after which the pause grows no more
constexpr std::chrono::seconds kRequestTime{10}, kLastWords{3};
constexpr std::uint64_t kLargestAnswer = std::uint64_t{64} << 10;
// opentelemetry/proto/trace/v1/trace.proto
constexpr int kSpanKindInternal = 1, kStatusError = 2;
constexpr std::string_view kPath = "/v1/traces";

std::string nanoseconds(WallTime time) {
  return std::to_string(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

std::string bounded(std::string_view text) { return escape_controls(text.substr(0, kMostText)); }

Value attributes(const Pairs& pairs) {
  Value list{Value::Array{}};
  for (const auto& [key, value] : pairs)
    list.push_back(Value::object({{"key", key}, {"value", Value::object({{"stringValue", value}})}}));
  return list;
}

std::optional<std::string> without_percents(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    unsigned byte = 0;
    const char* const digits = text.data() + i + 1;
    if (const auto [end, failed] = std::from_chars(digits, digits + 2, byte, 16);
        failed != std::errc() || end != digits + 2)
      return std::nullopt;
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

// "key=value,key=value", with percent signs for what may not stand there.
Result<Pairs> pairs_of(std::string_view variable, std::string_view text) {
  Pairs pairs;
  for (const std::string_view item : split(text, ',')) {
    const std::string_view pair = trim(item);
    if (pair.empty()) continue;
    const auto equals = pair.find('=');
    const auto value =
        equals == std::string_view::npos ? std::nullopt : without_percents(trim(pair.substr(equals + 1)));
    // Values may be credentials.
    if (!value || trim(pair.substr(0, equals)).empty())
      return error(ErrorKind::Usage, "{} is not a list of KEY=VALUE with commas between them", variable);
    pairs.emplace_back(trim(pair.substr(0, equals)), *value);
  }
  return pairs;
}

}  // namespace

Span::~Span() {
  if (traces_ == nullptr) return;
  facts_.took = traces_->world_.clock.steady_now() - facts_.began_steady;
  traces_->ended(std::move(facts_));
}

Span Span::child(std::string_view name) const {
  return traces_ == nullptr ? Span() : traces_->made(name, facts_.trace, facts_.id);
}

void Span::set(std::string_view key, std::string_view value) {
  if (traces_ != nullptr) facts_.attributes.emplace_back(key, bounded(value));
}

void Span::fails(std::string_view why) {
  if (traces_ != nullptr) facts_.failure = bounded(why);
}

Result<std::optional<TraceOptions>> TraceOptions::from(
    std::string_view endpoint,
    const std::function<std::optional<std::string>(std::string_view)>& environment) {
  const auto variable = [&](std::string_view name) { return environment(name).value_or(std::string()); };
  // Of this signal, else of all.
  const auto of_otlp = [&](std::string_view name) {
    std::string own = variable(fmt::format("OTEL_EXPORTER_OTLP_TRACES_{}", name));
    return own.empty() ? variable(fmt::format("OTEL_EXPORTER_OTLP_{}", name)) : own;
  };
  TraceOptions options;
  const std::string of_traces = variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
  const bool is_base = !endpoint.empty() || of_traces.empty();
  options.url = !endpoint.empty()    ? std::string(endpoint)
                : !of_traces.empty() ? of_traces
                                     : variable("OTEL_EXPORTER_OTLP_ENDPOINT");
  const bool is_off =
      lower_case(variable("OTEL_SDK_DISABLED")) == "true" || variable("OTEL_TRACES_EXPORTER") == "none";
  if (options.url.empty() || (endpoint.empty() && is_off)) return std::optional<TraceOptions>();
  while (is_base && options.url.ends_with('/')) options.url.pop_back();
  if (is_base) options.url += kPath;
  const auto url = http::Url::parse(options.url);
  if (!url.ok() || (url->scheme != "http" && url->scheme != "https"))
    return error(ErrorKind::Usage, "{} is not the URL of a collector of traces",
                 escape_controls(http::loggable_url(options.url)))
        .with_hint("write its OTLP address for HTTP, as in http://collector:4318");
  if (const std::string protocol = of_otlp("PROTOCOL"); endpoint.empty() && protocol == "grpc")
    return error(ErrorKind::Usage, "OTEL_EXPORTER_OTLP_PROTOCOL is grpc, which isn't spoken here")
        .with_hint("name the collector's port for HTTP (4318), and http/json as protocol");
  MIST_TRY(Pairs headers, pairs_of("OTEL_EXPORTER_OTLP_HEADERS", of_otlp("HEADERS")));
  for (auto& [name, value] : headers)
    if (lower_case(name) == "authorization")
      options.authorization = SecretString(std::move(value));
    else
      options.headers.push_back({std::move(name), std::move(value)});
  MIST_TRY(options.resource, pairs_of("OTEL_RESOURCE_ATTRIBUTES", variable("OTEL_RESOURCE_ATTRIBUTES")));
  if (const std::string service = variable("OTEL_SERVICE_NAME"); !service.empty()) options.service = service;
  return std::optional(std::move(options));
}

Traces::Traces(TraceOptions options, World world)
    : options_(std::move(options)),
      world_(std::move(world)),
      thread_([this](const std::stop_token& stop) { send_until(stop); }) {}

Traces::~Traces() {
  thread_.request_stop();
  thread_.join();
  const Context context = Context().with_timeout(kLastWords);
  const std::lock_guard lock(mutex_);
  for (std::size_t sent = 0; sent < waiting_.size(); sent += kBatch) {
    const auto begin = waiting_.begin() + static_cast<std::ptrdiff_t>(sent);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(kBatch, waiting_.size() - sent));
    if (!send({begin, end}, context)) return;
  }
}

Span Traces::begin(std::string_view name) { return made(name, world_.random.token(16), {}); }

Span Traces::made(std::string_view name, std::string trace, std::string parent) {
  Span span;
  span.facts_ = {.trace = std::move(trace),
                 .id = world_.random.token(8),
                 .parent = std::move(parent),
                 .name = std::string(name),
                 .began = world_.clock.now(),
                 .began_steady = world_.clock.steady_now(),
                 .took = {},
                 .attributes = {},
                 .failure = {}};
  span.traces_ = this;
  return span;
}

std::uint64_t Traces::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

void Traces::ended(Span::Facts facts) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= kMostWaiting) {
    ++dropped_;
    return;
  }
  waiting_.push_back(std::move(facts));
  changed_.notify_all();
}

void Traces::send_until(const std::stop_token& stop) {
  std::size_t failures = 0;
  const Context context(stop);
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return !waiting_.empty(); })) {
    const Duration pause = world_.gather * (1 << failures);
    const auto is_enough = [&] { return failures == 0 && waiting_.size() >= kBatch; };
    changed_.wait_for(lock, stop, pause, is_enough);
    if (stop.stop_requested()) return;
    std::vector<Span::Facts> batch;
    while (!waiting_.empty() && batch.size() < kBatch) {
      batch.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    lock.unlock();
    const Status sent = send(batch, context.with_timeout(kRequestTime));
    tell(sent);
    lock.lock();
    failures = sent ? 0 : std::min(failures + 1, kMostDoublings);
    // An answer that will always be the same isn't asked for again.
    if (sent || sent.error().kind == ErrorKind::Invalid) continue;
    while (!batch.empty() && waiting_.size() < kMostWaiting) {
      waiting_.push_front(std::move(batch.back()));
      batch.pop_back();
    }
    dropped_ += batch.size();
  }
}

// Once, and once when it is over.
void Traces::tell(const Status& sent) {
  if (!sent && !is_refused_)
    world_.events.warn(fmt::format("traces can't be sent: {}", sent.error().to_line()));
  if (sent && is_refused_) world_.events.info("traces are sent again");
  is_refused_ = !sent;
}

Status Traces::send(const std::vector<Span::Facts>& batch, const Context& context) const {
  http::Request request{
      .method = "POST", .url = options_.url, .headers = options_.headers, .body = text_of(batch)};
  request.headers.push_back({"Content-Type", "application/json"});
  request.authorization = options_.authorization;
  request.response_limit = kLargestAnswer;
  MIST_TRY(const http::Response answer, world_.web.send(request, context));
  if (answer.status / 100 == 2) return {};
  const bool is_for_now = answer.status == 429 || answer.status / 100 == 5;
  return error(is_for_now ? ErrorKind::Retryable : ErrorKind::Invalid, "{} answered {}",
               http::loggable_url(options_.url), answer.status)
      .with_because(bounded(answer.body));
}

std::string Traces::text_of(const std::vector<Span::Facts>& batch) const {
  Value spans{Value::Array{}};
  for (const Span::Facts& each : batch) {
    const WallTime end = each.began + std::chrono::duration_cast<WallTime::duration>(each.took);
    Value span = Value::object({{"traceId", each.trace},
                                {"spanId", each.id},
                                {"name", each.name},
                                {"kind", kSpanKindInternal},
                                {"startTimeUnixNano", nanoseconds(each.began)},
                                {"endTimeUnixNano", nanoseconds(end)},
                                {"attributes", attributes(each.attributes)}});
    if (!each.parent.empty()) span.set("parentSpanId", each.parent);
    if (each.failure) span.set("status", Value::object({{"code", kStatusError}, {"message", *each.failure}}));
    spans.push_back(std::move(span));
  }
  Pairs resource{{"service.name", options_.service}};
  if (!options_.version.empty()) resource.emplace_back("service.version", options_.version);
  resource.insert(resource.end(), options_.resource.begin(), options_.resource.end());
  const Value scope = Value::object({{"name", "mistletoe-operator"}, {"version", options_.version}});
  return encoding::to_json(Value::object(
      {{"resourceSpans", Value::array({Value::object(
                             {{"resource", Value::object({{"attributes", attributes(resource)}})},
                              {"scopeSpans", Value::array({Value::object(
                                                 {{"scope", scope}, {"spans", std::move(spans)}})})}})})}}));
}

}  // namespace mist::operator_
