#pragma once
// Repeats what may be repeated: answers that say "later" (429, 503, 5xx) and connections that broke. A
// request is only repeated when its Request says Repeat::Safe, or when the server surely has not acted on it:
// it never got it, or answered 429, or 503 with Retry-After (RFC 9110 section 10.2.3; client-go does the
// same). One that says Repeat::Never is sent once. Any thread; `inner`, `clock`, `random` and `events` must
// outlive it.

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/event.h"
#include "base/random.h"
#include "http/trace.h"
#include "http/transport.h"

namespace mist::http {

struct RetryOptions {
  Duration first_wait = std::chrono::milliseconds(200);  ///< doubles with each attempt, half of it at random
  static constexpr Duration kLongestWait =
      std::chrono::seconds(5);  ///< of our own choice; Retry-After may ask for more
  /// Waiting that one request may cost, whatever the reason. The Context's deadline ends it earlier.
  Duration patience = std::chrono::seconds(60);
  /// The same for broken connections and 5xx; servers that restart are back after this. A server that isn't
  /// counts as one that never answered: what is asked next waits no longer than `kFirstContactPatience`.
  static constexpr Duration kFailurePatience = std::chrono::seconds(20);
  /// The same until that server answered for the first time: a wrong address should be reported quickly, and
  /// one transport may lead to many servers.
  static constexpr Duration kFirstContactPatience = std::chrono::milliseconds(800);
  /// Until then the first attempt may take this long to connect; then the user is told, and the second one
  /// has the client's own time. Attempts that took longer than that and the patience together are not
  /// repeated; of a server that has answered, only if the last one ended in silence (silent.h).
  static constexpr Duration kFirstConnect = std::chrono::seconds(4);
  /// Until then somebody who waits longer than that for an answer is told: the peer may have accepted the
  /// connection and hang. Longer than kFirstConnect, which has a message of its own.
  Duration first_silence = std::chrono::seconds(5);
  static constexpr int kAttempts = 60;
  std::string peer = "the API server";  ///< for messages
  static constexpr Duration kReportAfter =
      std::chrono::seconds(1);  ///< waits from this on are told to the EventSink
  Tracer tracer = {};
};

/// RFC 9110 section 5.6.7, the only form that may be sent: "Sun, 06 Nov 1994 08:49:37 GMT"; nullopt for
/// anything else.
std::optional<WallTime> parse_http_date(std::string_view text);

/// "120" or an HTTP date (RFC 9110 section 10.2.3) as a wait from `now`; nullopt when it is neither.
std::optional<Duration> parse_retry_after(std::string_view value, WallTime now);

class RetryingTransport final : public Transport {
 public:
  RetryingTransport(Transport& inner, Clock& clock, Random& random, EventSink& events,
                    RetryOptions options = {});

  /// As Transport::send. When trying is over, the last answer or error; an error says how often it was tried.
  Result<Response> send(const Request& request, const Context& context) override;
  /// Tries again only while no piece was handed on.
  Result<Response> stream(const Request& request, const BodyPiece& piece, const Context& context) override;

 private:
  struct Wait {
    Duration time{};
    std::string why;         ///< for messages
    bool asked_for = false;  ///< the server named the time
  };
  Result<Response> run(const Request& request, const BodyPiece* piece, const Context& context);
  /// nullopt: don't try again.
  struct Spent {
    Duration attempts{}, waiting{};
  };
  std::optional<Wait> decide(const Request& request, const std::string& origin,
                             const Result<Response>& result, int attempt, const Spent& spent);
  Result<Response> attempt_once(const Request& request, const std::string& origin, int attempt,
                                const BodyPiece* piece, const Context& context);
  Duration back_off(int attempt);
  bool has_answered(const std::string& origin);
  void note_answer(const std::string& origin);
  void note_gone(const std::string& origin);
  void report(const std::string& origin, const Wait& wait, Duration attempted);
  void trace(const Request& request, const Result<Response>& result, int attempt, Duration duration) const;

  Transport& inner_;
  Clock& clock_;
  Random& random_;
  EventSink& events_;
  const RetryOptions options_;
  std::mutex mutex_;
  std::set<std::string, std::less<>> reached_;  // origins that answer; guarded by mutex_
  std::optional<SteadyTime> reported_;          // guarded by mutex_
};

}  // namespace mist::http
