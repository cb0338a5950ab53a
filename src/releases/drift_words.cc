#include "releases/drift_words.h"

#include <algorithm>
#include <vector>

#include "base/some_of.h"
#include "base/text.h"
#include "encoding/json.h"

namespace mist::releases {
namespace {

using encoding::Value;

constexpr std::size_t kMostDriftNamed = 5;

bool is_told(const action::ObjectDrift& drift) {
  using enum action::DriftKind;
  return drift.kind != Foreign && drift.kind != Finished && drift.kind != Unknown;
}

}  // namespace

std::string drift_words(const action::DriftReport& report) {
  if (!report.drifted(false)) return {};
  std::vector<std::string> named;
  for (const action::ObjectDrift& each : report.found) {
    if (!is_told(each)) continue;
    std::string words = each.key.display();
    if (each.kind != action::DriftKind::Changed) words += fmt::format(" is {}", action::to_string(each.kind));
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
  std::vector<std::string> reasons;
  for (const auto& [key, why] : left)
    reasons.push_back(fmt::format("{} is left as it is: {}", key.display(), escape_controls(why)));
  const std::string words = drift_words(left_of(report, fixed));
  return fmt::format("{}{}{}", words, words.empty() ? "" : "; ",
                     some_of(std::move(reasons), kMostDriftNamed));
}

action::DriftReport left_of(action::DriftReport report, const action::DeployReport& fixed) {
  const auto left = fixed.left();
  std::erase_if(report.found, [&](const action::ObjectDrift& each) { return !left.contains(each.key); });
  return report;
}

std::string drift_facts(const action::DriftReport& report) {
  std::vector<std::string> objects;
  for (const action::ObjectDrift& each : report.found) {
    if (!is_told(each)) continue;
    std::vector<std::string> fields;
    for (const action::FieldDrift& field : each.fields)
      fields.push_back(encoding::to_json(
          Value::array({field.path, field.managers.empty() ? Value() : Value(field.managers.front())})));
    std::ranges::sort(fields);
    objects.push_back(encoding::to_json(
        Value::array({each.key.group_kind.group, each.key.group_kind.kind, each.key.ns, each.key.name,
                      action::to_string(each.kind), Value(Value::Array(fields.begin(), fields.end()))})));
  }
  std::ranges::sort(objects);
  return join(objects, "\n");
}

}  // namespace mist::releases
