#include "operator/traces.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/url.h"
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
constexpr std::size_t kLeastHidden = 8;  // shorter values stand in any text
constexpr std::uint64_t kLargestAnswer = std::uint64_t{64} << 10;
// opentelemetry/proto/trace/v1/trace.proto
constexpr int kSpanKindInternal = 1, kStatusError = 2;
constexpr std::string_view kPath = "/v1/traces", kService = "mistletoe-operator";

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

// Nothing: a percent sign begins no escape. Each escape is two characters longer than what it stands for.
std::optional<std::string> unescaped(std::string_view text) {
  std::string plain = percent_decoded(text);
  const auto percents = static_cast<std::size_t>(std::ranges::count(text, '%'));
  return text.size() - plain.size() == 2 * percents ? std::optional(std::move(plain)) : std::nullopt;
}

// "key=value,key=value", with percent signs for what may not stand there.
Result<Pairs> pairs_of(std::string_view variable, std::string_view text) {
  Pairs pairs;
  for (const std::string_view item : split(text, ',')) {
    const std::string_view pair = trim(item);
    if (pair.empty()) continue;
    const auto equals = pair.find('=');
    const auto value =
        equals == std::string_view::npos ? std::nullopt : unescaped(trim(pair.substr(equals + 1)));
    // Values may be credentials.
    if (!value || trim(pair.substr(0, equals)).empty())
      return error(ErrorKind::Usage, "{} is not a list of KEY=VALUE with commas between them", variable);
    pairs.emplace_back(trim(pair.substr(0, equals)), *value);
  }
  return pairs;
}

void add_missing(Pairs& pairs, std::string_view key, std::string_view value) {
  const bool is_there = std::ranges::any_of(pairs, [&](const auto& each) { return each.first == key; });
  if (!is_there && !value.empty()) pairs.emplace_back(key, value);
}

}  // namespace

Span::~Span() {
  if (traces_ == nullptr) return;
  facts_.took = traces_->dependencies_.clock.steady_now() - facts_.began_steady;
  traces_->ended(std::move(facts_));
}

// By its parent's clock, which may have been set meanwhile.
Span Span::child(std::string_view name) const {
  if (traces_ == nullptr) return {};
  Span span = traces_->made(name, facts_.trace, facts_.id);
  const Duration since = span.facts_.began_steady - facts_.began_steady;
  span.facts_.began = facts_.began + std::chrono::duration_cast<WallTime::duration>(since);
  return span;
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
    return error(ErrorKind::Usage, "{} is not the URL of a trace collector",
                 escape_controls(http::loggable_url(options.url)))
        .with_hint("write its OTLP address for HTTP, as in http://collector:4318");
  if (const std::string protocol = of_otlp("PROTOCOL"); endpoint.empty() && protocol == "grpc")
    return error(ErrorKind::Usage, "OTEL_EXPORTER_OTLP_PROTOCOL is grpc, which is not supported")
        .with_hint("name the collector's port for HTTP (4318), and http/json as protocol");
  MIST_TRY(Pairs headers, pairs_of("OTEL_EXPORTER_OTLP_HEADERS", of_otlp("HEADERS")));
  for (auto& [name, value] : headers)
    if (lower_case(name) == "authorization")
      options.authorization = SecretString(std::move(value));
    else
      options.headers.push_back({std::move(name), std::move(value)});
  if (const std::string service = variable("OTEL_SERVICE_NAME"); !service.empty())
    options.resource.emplace_back("service.name", service);
  MIST_TRY(const Pairs more, pairs_of("OTEL_RESOURCE_ATTRIBUTES", variable("OTEL_RESOURCE_ATTRIBUTES")));
  for (const auto& [key, value] : more) add_missing(options.resource, key, value);
  return std::optional(std::move(options));
}

namespace {

// Each vendor has a header of its own for its keys.
std::vector<std::string> values_of(const http::Headers& headers) {
  std::vector<std::string> values;
  for (const http::Header& each : headers)
    if (each.value.size() >= kLeastHidden) values.push_back(each.value);
  return values;
}

}  // namespace

Traces::Traces(TraceOptions options, const Dependencies& dependencies)
    : options_(std::move(options)),
      dependencies_(dependencies),
      secrets_(values_of(options_.headers)),
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

Span Traces::begin(std::string_view name) { return made(name, dependencies_.random.token(16), {}); }

Span Traces::made(std::string_view name, std::string trace, std::string parent) {
  Span span;
  span.facts_ = {.trace = std::move(trace),
                 .id = dependencies_.random.token(8),
                 .parent = std::move(parent),
                 .name = std::string(name),
                 .began = dependencies_.clock.now(),
                 .began_steady = dependencies_.clock.steady_now(),
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
    const Duration pause = dependencies_.gather * (1 << failures);
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
    if (!stop.stop_requested()) tell(sent);
    lock.lock();
    failures = sent ? 0 : std::min(failures + 1, kMostDoublings);
    if (sent) continue;
    // An answer that will always be the same isn't asked for again.
    const bool is_for_good = sent.error().kind == ErrorKind::Invalid;
    while (!is_for_good && !batch.empty() && waiting_.size() < kMostWaiting) {
      waiting_.push_front(std::move(batch.back()));
      batch.pop_back();
    }
    dropped_ += batch.size();
  }
}

// Once, and once when it is over.
void Traces::tell(const Status& sent) {
  if (!sent && !is_refused_)
    dependencies_.events.warn(fmt::format("traces can't be sent: {}", sent.error().to_line()));
  if (sent && is_refused_) dependencies_.events.info("traces are sent again");
  is_refused_ = !sent;
}

Status Traces::send(const std::vector<Span::Facts>& batch, const Context& context) const {
  http::Request request{
      .method = "POST", .url = options_.url, .headers = options_.headers, .body = text_of(batch)};
  request.headers.push_back({"Content-Type", "application/json"});
  request.authorization = options_.authorization;
  request.response_limit = kLargestAnswer;
  MIST_TRY(const http::Response answer, dependencies_.web.send(request, context));
  if (answer.status / 100 == 2) return {};
  // "Failures", of the OTLP specification.
  constexpr std::array kForNow{429, 502, 503, 504};
  const bool is_for_now = std::ranges::find(kForNow, answer.status) != kForNow.end();
  return error(is_for_now ? ErrorKind::Retryable : ErrorKind::Invalid, "{} answered {}",
               http::loggable_url(options_.url), answer.status)
      .with_because(bounded(secrets_.masked(answer.body, "***")));
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
  Pairs resource = options_.resource;
  add_missing(resource, "service.name", kService);
  add_missing(resource, "service.version", options_.version);
  add_missing(resource, "service.instance.id", options_.instance);
  const Value scope = Value::object({{"name", kService}, {"version", options_.version}});
  return encoding::to_json(Value::object(
      {{"resourceSpans", Value::array({Value::object(
                             {{"resource", Value::object({{"attributes", attributes(resource)}})},
                              {"scopeSpans", Value::array({Value::object(
                                                 {{"scope", scope}, {"spans", std::move(spans)}})})}})})}}));
}

}  // namespace mist::operator_
