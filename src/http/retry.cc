#include "http/retry.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <condition_variable>
#include <ctime>
#include <functional>
#include <mutex>
#include <span>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/text.h"
#include "http/silent.h"
#include "http/url.h"

namespace mist::http {
namespace {

using std::chrono::duration;

// Many threads meet the same overloaded server at once; one sentence now and then is enough.
constexpr std::chrono::seconds kReportInterval{5};
// A Retry-After beyond this is taken for "never".
constexpr std::chrono::seconds kLongestRetryAfter{24 * 3600};

/// The server answered that it did not act on the request.
bool surely_not_acted(const Result<Response>& result) {
  if (!result.ok()) return surely_not_sent(result.error());
  return result->status == 429 ||
         (result->status == 503 && !find_header(result->headers, "Retry-After").empty());
}

// Empty where the URL is none, which the transport says.
std::string origin_of(const Request& request) {
  const Result<Url> url = Url::parse(request.url);
  return url ? url->origin() : std::string();
}

bool may_pass(const Result<Response>& result) {
  if (!result.ok()) return result.error().kind == ErrorKind::Retryable;
  switch (result->status) {
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::optional<WallTime> parse_http_date(std::string_view text) {
  static constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                               "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto number = [&](std::size_t at, std::size_t size) {
    int value = -1;
    const char* begin = text.data() + at;
    const auto [end, code] = std::from_chars(begin, begin + size, value);
    return code == std::errc() && end == begin + size ? value : -1;
  };
  if (text.size() != 29 || !text.ends_with(" GMT") || text[3] != ',') return std::nullopt;
  const auto month = std::ranges::find(kMonths, text.substr(8, 3));
  std::tm parts{};
  parts.tm_mday = number(5, 2);
  parts.tm_mon = static_cast<int>(month - kMonths.begin());
  parts.tm_year = number(12, 4) - 1900;
  parts.tm_hour = number(17, 2);
  parts.tm_min = number(20, 2);
  parts.tm_sec = number(23, 2);
  const bool possible = month != kMonths.end() && parts.tm_mday > 0 && parts.tm_year >= 70 &&
                        parts.tm_hour >= 0 && parts.tm_min >= 0 && parts.tm_sec >= 0;
  if (!possible) return std::nullopt;
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

std::optional<Duration> parse_retry_after(std::string_view value, WallTime now) {
  const std::string_view text = trim(value);
  std::int64_t count = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool digits = !text.empty() && end == text.data() + text.size() && text.front() != '-';
  if (digits && code == std::errc::result_out_of_range) return kLongestRetryAfter;
  if (digits && code == std::errc())
    return std::min<Duration>(std::chrono::seconds(std::min<std::int64_t>(count, kLongestRetryAfter.count())),
                              kLongestRetryAfter);
  if (const std::optional<WallTime> date = parse_http_date(text))
    return std::clamp<Duration>(*date - now, Duration::zero(), kLongestRetryAfter);
  return std::nullopt;
}

RetryingTransport::RetryingTransport(Transport& inner, Clock& clock, Random& random, EventSink& events,
                                     RetryOptions options)
    : inner_(inner), clock_(clock), random_(random), events_(events), options_(std::move(options)) {}

Result<Response> RetryingTransport::send(const Request& request, const Context& context) {
  return run(request, nullptr, context);
}

Result<Response> RetryingTransport::stream(const Request& request, const BodyPiece& piece,
                                           const Context& context) {
  return run(request, &piece, context);
}

Result<Response> RetryingTransport::run(const Request& request, const BodyPiece* piece,
                                        const Context& context) {
  const std::string origin = origin_of(request);
  Spent spent;
  bool handed_on = false;
  const BodyPiece watching = [&](std::string_view bytes) {
    handed_on = true;
    return (*piece)(bytes);
  };
  for (int attempt = 1;; ++attempt) {
    const SteadyTime begin = clock_.steady_now();
    Result<Response> result =
        attempt_once(request, origin, attempt, piece == nullptr ? nullptr : &watching, context);
    const Duration lasted = clock_.steady_now() - begin;
    trace(request, result, attempt, lasted);
    spent.attempts += lasted;
    if (result.ok()) note_answer(origin);

    const std::optional<Wait> next =
        handed_on ? std::nullopt : decide(request, origin, result, attempt, spent);
    // A wait that the deadline would cut short is no use: what is known now says more than "too late".
    const bool too_late = next && context.remaining() && *context.remaining() <= next->time;
    if (!next || too_late) {
      if (result.ok() || attempt == 1) return result;
      return std::move(result).in(fmt::format("after {} attempts within {:.1f} s", attempt,
                                              duration<double>(spent.attempts + spent.waiting).count()));
    }
    report(origin, *next, lasted);
    clock_.sleep(next->time, context.stop());
    if (Status ended = context.check(); !ended.ok()) {
      if (request.await_answer > Duration::zero() && !surely_not_acted(result))
        return as_maybe_sent(std::move(ended).error());
      return std::move(ended).error();
    }
    spent.waiting += next->time;
  }
}

namespace {

// Calls `tell` unless it is destroyed before the time is over.
class Patience {
 public:
  Patience(Duration time, std::function<void()> tell)
      : thread_([time, tell = std::move(tell)](const std::stop_token& stop) {
          std::mutex mutex;
          std::condition_variable_any wake;
          std::unique_lock lock(mutex);
          wake.wait_for(lock, stop, time, [] { return false; });
          if (!stop.stop_requested()) tell();
        }) {}

 private:
  std::jthread thread_;
};

}  // namespace

Result<Response> RetryingTransport::attempt_once(const Request& request, const std::string& origin,
                                                 int attempt, const BodyPiece* piece,
                                                 const Context& context) {
  const auto once = [&](const Request& each) {
    return piece == nullptr ? inner_.send(each, context) : inner_.stream(each, *piece, context);
  };
  if (attempt > 1 || has_answered(origin)) return once(request);
  const Patience patience(options_.first_silence, [&] {
    events_.info(fmt::format("{} at {} has not answered for {:.0f} s", options_.peer, origin,
                             duration<double>(options_.first_silence).count()));
  });
  // Of two attempts only the first is a short one.
  if (request.connect_timeout || request.repeat == Repeat::Never) return once(request);
  Request first = request;
  first.connect_timeout = RetryOptions::kFirstConnect;
  return once(first);
}

std::optional<RetryingTransport::Wait> RetryingTransport::decide(const Request& request,
                                                                 const std::string& origin,
                                                                 const Result<Response>& result, int attempt,
                                                                 const Spent& spent) {
  if (request.repeat == Repeat::Never) return std::nullopt;
  if (!may_pass(result) || attempt >= RetryOptions::kAttempts) return std::nullopt;
  if (request.repeat == Repeat::Unsafe && !surely_not_acted(result)) return std::nullopt;

  Wait next{.time = back_off(attempt), .why = {}, .asked_for = false};
  const bool throttled = result.ok() && surely_not_acted(result);
  if (result.ok()) {
    const auto asked = parse_retry_after(find_header(result->headers, "Retry-After"), clock_.now());
    next.asked_for = asked.has_value();
    // Never sooner than asked; a little later, so that all who were sent away don't come back at once.
    if (asked) next.time = *asked + back_off(1) / 2;
    next.why = asked ? fmt::format("{}", result->status) : fmt::format("it answered {}", result->status);
  } else {
    next.why = without_sent(result.error());
  }
  const bool reached = has_answered(origin);
  const Duration patience = throttled ? options_.patience
                            : reached ? RetryOptions::kFailurePatience
                                      : RetryOptions::kFirstContactPatience;
  if (spent.waiting + next.time > patience) {
    if (!result.ok()) note_gone(origin);
    return std::nullopt;
  }
  // A server that restarts refuses connections or breaks them; one that takes a request and is silent hangs.
  const bool hangs = !result.ok() && is_silent(result.error());
  if (!throttled && (!reached || hangs) && spent.attempts > RetryOptions::kFirstConnect + patience)
    return std::nullopt;
  return next;
}

bool RetryingTransport::has_answered(const std::string& origin) {
  const std::scoped_lock lock(mutex_);
  return reached_.contains(origin);
}

void RetryingTransport::note_answer(const std::string& origin) {
  const std::scoped_lock lock(mutex_);
  reached_.insert(origin);
}

void RetryingTransport::note_gone(const std::string& origin) {
  const std::scoped_lock lock(mutex_);
  reached_.erase(origin);
}

/// Exponential with "equal jitter": half fixed, half at random.
Duration RetryingTransport::back_off(int attempt) {
  const int doublings = std::min(attempt - 1, 20);
  const Duration full =
      std::min(options_.first_wait * (std::int64_t{1} << doublings), RetryOptions::kLongestWait);
  std::uint32_t number = 0;
  random_.fill(std::as_writable_bytes(std::span(&number, 1)));
  return full / 2 + full / 2 * (number % 1024) / 1024;
}

void RetryingTransport::report(const std::string& origin, const Wait& wait, Duration attempted) {
  const bool silent = attempted >= RetryOptions::kReportAfter && !has_answered(origin);
  if (wait.time < RetryOptions::kReportAfter && !silent) return;
  {
    const std::scoped_lock lock(mutex_);
    const SteadyTime now = clock_.steady_now();
    if (reported_ && now - *reported_ < kReportInterval) return;
    reported_ = now;
  }
  const double length = duration<double>(wait.time).count();
  if (silent)
    events_.info(fmt::format("{}; trying once more", wait.why));
  else if (wait.asked_for)
    events_.info(fmt::format("{} asks to wait {:.0f} s ({})", options_.peer, length, wait.why));
  else
    events_.info(fmt::format("trying {} again in {:.0f} s: {}", options_.peer, length, wait.why));
}

void RetryingTransport::trace(const Request& request, const Result<Response>& result, int attempt,
                              Duration elapsed) const {
  if (!options_.tracer) return;
  RequestTrace record{.method = request.method,
                      .url = loggable_url(request.url),
                      .status = result.ok() ? result->status : 0,
                      .problem = result.ok() ? std::string() : result.error().to_line(),
                      .duration = elapsed,
                      .attempt = attempt};
  options_.tracer(record);
}

}  // namespace mist::http
