#pragma once
// Exports OpenTelemetry traces of the operator's work: OTLP over HTTP with JSON
// (opentelemetry.io/docs/specs/otlp). Each look at an instance, a blueprint or a Release is a trace; that of
// an instance has a child span for each request that writes. A background thread sends them. Nothing waits
// for it, and spans that a collector doesn't accept are dropped and counted. Any thread.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/event.h"
#include "base/random.h"
#include "base/secret.h"
#include "base/text_mask.h"
#include "http/transport.h"

namespace mist::operator_ {

class Traces;

/// An operation in progress, from its construction to its destruction. One thread at a time; children may run
/// on other threads, and end before their parent.
class Span {
 public:
  /// Of a program that isn't traced: does nothing, and so do its children.
  Span() = default;
  Span(Span&& other) noexcept
      : traces_(std::exchange(other.traces_, nullptr)), facts_(std::move(other.facts_)) {}
  Span& operator=(Span&&) = delete;
  ~Span();

  Span child(std::string_view name) const;
  void set(std::string_view key, std::string_view value);
  /// `why` is shown to whoever reads traces.
  void fails(std::string_view why);

 private:
  friend class Traces;
  struct Facts {
    std::string trace, id, parent;  // hexadecimal
    std::string name;
    WallTime began{};
    SteadyTime began_steady{};
    Duration took{};
    std::vector<std::pair<std::string, std::string>> attributes;
    std::optional<std::string> failure;
  };
  Traces* traces_ = nullptr;
  Facts facts_;
};

/// Where traces go, and as whose. Their names in the environment are those of the OpenTelemetry
/// specification.
struct TraceOptions {
  std::string url;  ///< "http://collector:4318/v1/traces"
  http::Headers headers = {};
  std::optional<SecretString> authorization = {};
  std::string version = {}, instance = {};  ///< of this program
  /// The resource attributes. service.name, service.version and service.instance.id are added if missing.
  std::vector<std::pair<std::string, std::string>> resource = {};

  /// `endpoint`: the flag's, over those of the environment. Nothing: no traces are wanted. Errors: Usage,
  /// naming the variable.
  static Result<std::optional<TraceOptions>> from(
      std::string_view endpoint,
      const std::function<std::optional<std::string>(std::string_view)>& environment);
};

class Traces {
 public:
  /// Spans that wait to be sent.
  static constexpr std::size_t kMostWaiting = 4096;
  struct Dependencies {
    http::Transport& web;
    Clock& clock;
    Random& random;
    EventSink& events;
    /// From the first span until it is sent, with those that came meanwhile; after a failure longer and
    /// longer.
    Duration gather = std::chrono::seconds(1);
  };
  /// All of `dependencies` outlives it, and it its spans.
  Traces(TraceOptions options, const Dependencies& dependencies);
  /// Sends what is left, for at most three seconds.
  ~Traces();
  Traces(const Traces&) = delete;
  Traces& operator=(const Traces&) = delete;

  /// A new trace.
  Span begin(std::string_view name);
  /// Spans that nobody took.
  std::uint64_t dropped() const;

 private:
  friend class Span;
  Span made(std::string_view name, std::string trace, std::string parent);
  void ended(Span::Facts facts);
  void send_until(const std::stop_token& stop);
  Status send(const std::vector<Span::Facts>& batch, const Context& context) const;
  void tell(const Status& sent);
  std::string text_of(const std::vector<Span::Facts>& batch) const;

  const TraceOptions options_;
  const Dependencies dependencies_;
  const TextMask secrets_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Span::Facts> waiting_;  // guarded by mutex_
  std::uint64_t dropped_ = 0;        // guarded by mutex_
  bool is_refused_ = false;          // of the thread
  std::jthread thread_;              // uses what stands above
};

/// A trace where there are some.
inline Span begin_trace(Traces* traces, std::string_view name) {
  return traces == nullptr ? Span() : traces->begin(name);
}

}  // namespace mist::operator_
