#pragma once
// An object's annotations about waiting for it: mistletoe.dev/ready-when, a JSONPath and the value that
// it must lead to, and mistletoe.dev/timeout, how long that may take. Plain values; any thread for const
// use.

#include <optional>
#include <string>
#include <string_view>

#include "apimachinery/json_path.h"
#include "base/clock.h"
#include "base/result.h"
#include "encoding/value.h"

namespace mist::apply {

/// `{.status.phase}=Running`; `{.status.phase}!=Pending`; `{.status.address}` alone: there is one, and it
/// isn't empty. Leads the path to several values, all must be so.
inline constexpr std::string_view kReadyWhenAnnotation = "mistletoe.dev/ready-when";
/// A duration ("10m"): replaces --timeout for this object.
inline constexpr std::string_view kTimeoutAnnotation = "mistletoe.dev/timeout";

class ReadyWhen {
 public:
  /// Invalid: says what is wrong.
  static Result<ReadyWhen> parse(std::string_view text);

  bool holds(const encoding::Value& live) const;
  /// Why it doesn't hold: "{.status.phase} is Pending, not Running".
  std::string explain(const encoding::Value& live) const;

 private:
  enum class Comparison : std::uint8_t { Exists, Equal, NotEqual };
  ReadyWhen(apimachinery::JsonPath path, Comparison comparison, std::string value)
      : path_(std::move(path)), comparison_(comparison), value_(std::move(value)) {}
  bool satisfied_by(const encoding::Value& found) const;

  apimachinery::JsonPath path_;
  Comparison comparison_;
  std::string value_;
};

struct WaitingRules {
  std::optional<ReadyWhen> ready_when = {};
  std::optional<Duration> timeout = {};
};

/// Whether waiting for this object can be more than finding it: its kind has a readiness rule, or is none of
/// Kubernetes' own, or it carries mistletoe.dev/ready-when. `object`: as it was rendered.
bool is_worth_waiting(const encoding::Value& object);

/// Of a rendered or a live object. Invalid, at the annotation's line, when one can't be read.
Result<WaitingRules> waiting_rules(const encoding::Value& object);

}  // namespace mist::apply
