#include "releases/drift_words.h"

#include <vector>

#include "base/some_of.h"
#include "base/text.h"

namespace mist::releases {
namespace {

constexpr std::size_t kMostDriftNamed = 5;
constexpr std::string_view kBeforeReasons = "; ";

}  // namespace

std::string drift_words(const action::DriftReport& report) {
  if (!report.drifted(false)) return {};
  std::vector<std::string> named;
  for (const action::ObjectDrift& each : report.found) {
    using enum action::DriftKind;
    if (each.kind == Foreign || each.kind == Finished || each.kind == Unknown) continue;
    std::string words = each.key.display();
    if (each.kind != Changed) words += fmt::format(" is {}", action::to_string(each.kind));
    std::vector<std::string> fields;
    for (const action::FieldDrift& field : each.fields) {
      if (fields.size() == kMostDriftNamed) {
        fields.emplace_back("…");
        break;
      }
      fields.push_back(field.managers.empty() ? field.path
                                              : fmt::format("{} by {}", field.path, field.managers.front()));
    }
    if (!fields.empty()) words += fmt::format(" ({})", join(fields, ", "));
    named.push_back(std::move(words));
  }
  if (named.empty()) return {};
  return fmt::format("{} changed by others: {}", plural(named.size(), "object"),
                     some_of(named, kMostDriftNamed));
}

std::string left_words(const action::DriftReport& report, const action::DeployReport& fixed) {
  const auto left = fixed.left();
  if (left.empty()) return {};
  action::DriftReport rest = report;
  std::erase_if(rest.found, [&](const action::ObjectDrift& each) { return !left.contains(each.key); });
  std::vector<std::string> reasons;
  for (const auto& [key, why] : left)
    reasons.push_back(fmt::format("{} is left as it is: {}", key.display(), escape_controls(why)));
  const std::string words = drift_words(rest);
  return fmt::format("{}{}{}", words, words.empty() ? "" : kBeforeReasons,
                     some_of(std::move(reasons), kMostDriftNamed));
}

bool tells_drift(std::string_view message, std::string_view words) {
  if (!message.starts_with(words)) return false;
  message.remove_prefix(words.size());
  return message.empty() || message.starts_with(kBeforeReasons);
}

}  // namespace mist::releases
