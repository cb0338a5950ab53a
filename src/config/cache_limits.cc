#include "config/cache_limits.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace mist::config {
namespace {

// Of sixteen parts; they are all of them. Renders are the smallest, and the cheapest to make again.
constexpr std::uint64_t kParts = 16;
constexpr std::uint64_t kPackages = 4;
constexpr std::uint64_t kRegistries = 6;
constexpr std::uint64_t kCode = 5;
constexpr std::uint64_t kRenders = 1;
static_assert(kPackages + kRegistries + kCode + kRenders == kParts);

}  // namespace

CacheLimits CacheLimits::within(std::optional<std::uint64_t> whole) const {
  if (!whole) return *this;
  const auto share = [part = *whole / kParts](std::uint64_t limit, std::uint64_t parts) {
    return std::min(limit, part * parts);
  };
  return {.packages = share(packages, kPackages),
          .registries = share(registries, kRegistries),
          .code = share(code, kCode),
          .renders = share(renders, kRenders)};
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, int>, 4> kUnits{
      {{"Ki", 10}, {"Mi", 20}, {"Gi", 30}, {"Ti", 40}}};
  for (const auto& [unit, shift] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const std::string_view digits = text.substr(0, text.size() - unit.size());
    std::uint64_t number = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (problem == std::errc() && end == digits.data() + digits.size() &&
        number <= (std::uint64_t{1} << 62) >> shift)
      return number << shift;
  }
  return std::nullopt;
}

}  // namespace mist::config
