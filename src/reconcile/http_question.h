#pragma once
// The question of an HTTP node, and what is known of the answer. Questions go to a Service or a Pod of the
// instance's own namespace, through the API server, so that a blueprint reaches nothing that its operator's
// account may not reach. Plain values; any thread.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "encoding/value.h"

namespace mist::reconcile {

using encoding::Value;

struct HttpQuestion {
  enum class Target : std::uint8_t { Service, Pod };
  Target target = Target::Service;
  std::string ns, name, scheme, port, path;
  Duration interval{}, timeout{};
  friend auto operator<=>(const HttpQuestion&, const HttpQuestion&) = default;
  /// Whether it asks the same at the same place, be it at another interval. A Pod has another name when it is
  /// replaced.
  bool asks_same(const HttpQuestion& other) const;

  /// Of what the node's function gives: { service or pod, port, path, scheme, interval, timeout }. Invalid:
  /// what is wrong with it.
  static Result<HttpQuestion> parse(const Value& made, const std::string& ns);
};

/// A source is asked at most once in this time, and its answers are at most this large.
inline constexpr Duration kShortestInterval = std::chrono::seconds(1);
inline constexpr std::uint64_t kMostAnswer = std::uint64_t{64} << 10;

struct HttpAnswer {
  std::optional<Value> body = {};  ///< JSON of the last good answer
  std::string failure = {};        ///< of the last try; empty: it was good, or there was none
  bool stale = false;              ///< several tries failed: the body says nothing about now
};

/// For people: why there is no answer, or none that counts.
std::string unanswered(const HttpAnswer& answer);

}  // namespace mist::reconcile
