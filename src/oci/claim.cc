#include "oci/claim.h"

#include <charconv>

#include "base/text.h"
#include "base/utc_time.h"
#include "encoding/json.h"

namespace mist::oci {
namespace {

using encoding::Value;

constexpr int kClaimDepth = 32;
constexpr std::size_t kMaxClaimValues = 20'000;

std::optional<WallTime> time_in(const Value& value) {
  std::int64_t seconds = 0;
  if (value.is_int()) {
    seconds = value.as_int();
  } else if (value.is_string()) {
    // `cosign sign -a timestamp=1700000000`
    const std::string& text = value.as_string();
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (problem != std::errc() || end != text.data() + text.size()) return parse_time(text);
  } else {
    return std::nullopt;
  }
  if (seconds < 0 || seconds > kLastSecond) return std::nullopt;
  return WallTime(std::chrono::seconds(seconds));
}

}  // namespace

SignatureClaim damaged_claim(SignatureClaim claim, std::string why) {
  claim.damage = std::move(why);
  return claim;
}

Result<Value> parse_claim(std::string_view text) {
  return encoding::parse_json(text,
                              {.strict = true, .max_depth = kClaimDepth, .max_values = kMaxClaimValues});
}

void read_signed_annotations(const Value& annotations, SignatureClaim& claim) {
  if (!annotations.is_object()) return;
  for (const Value::Member& member : annotations.as_object()) {
    if (member.key == kTimestamp) claim.signed_at = time_in(member.value);
    if (member.value.is_string()) claim.annotations.emplace(member.key, member.value.as_string());
  }
}

}  // namespace mist::oci
