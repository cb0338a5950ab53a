#include "catalog/model.h"

#include <array>

namespace mist::catalog {
namespace {

using encoding::Value;

constexpr std::array<std::string_view, 3> kRoles{"author", "moderator", "administrator"};
constexpr std::array<std::string_view, 4> kVersionStates{"queued", "testing", "passed", "failed"};
constexpr std::array<std::string_view, 3> kReviews{"published", "awaited", "rejected"};
constexpr std::array<std::string_view, 3> kReviewPolicies{"none", "first-version", "every-version"};
constexpr std::array<std::string_view, 4> kTestNodes{"no nodes", "real nodes", "simulated nodes",
                                                     "real and simulated nodes"};
constexpr std::array<std::string_view, 3> kStepStates{"passed", "failed", "skipped"};

Value texts(const std::vector<std::string>& list) {
  Value value{Value::Array{}};
  for (const std::string& each : list) value.push_back(Value(each));
  return value;
}

}  // namespace

std::string_view to_string(Role role) { return kRoles.at(static_cast<std::size_t>(role)); }
std::string_view to_string(VersionState state) { return kVersionStates.at(static_cast<std::size_t>(state)); }
std::string_view to_string(Review review) { return kReviews.at(static_cast<std::size_t>(review)); }
std::string_view to_string(TestNodes nodes) { return kTestNodes.at(static_cast<std::size_t>(nodes)); }
bool any_simulated(TestNodes nodes) {
  return nodes == TestNodes::Simulated || nodes == TestNodes::RealAndSimulated;
}
std::string_view to_string(StepState state) { return kStepStates.at(static_cast<std::size_t>(state)); }

Error hidden_by_moderators(std::string_view what, const std::string& why) {
  return error(ErrorKind::Gone, "the moderators of this catalog hid {}", what).with_because(why);
}

std::optional<VersionState> version_state_of(std::string_view text) {
  for (std::size_t i = 0; i < kVersionStates.size(); ++i)
    if (kVersionStates.at(i) == text) return static_cast<VersionState>(i);
  return std::nullopt;
}

std::optional<ReviewPolicy> review_policy_of(std::string_view text) {
  for (std::size_t i = 0; i < kReviewPolicies.size(); ++i)
    if (kReviewPolicies.at(i) == text) return static_cast<ReviewPolicy>(i);
  return std::nullopt;
}

std::optional<Role> role_of(std::string_view text) {
  for (std::size_t i = 0; i < kRoles.size(); ++i)
    if (kRoles.at(i) == text) return static_cast<Role>(i);
  return std::nullopt;
}

Value PackageFacts::to_value() const {
  Value needs{Value::Array{}};
  for (const Dependency& each : dependencies)
    needs.push_back(Value::object({{"name", Value(each.name)}, {"version", Value(each.range)}}));
  return Value::object({{"format", Value(format)},
                        {"description", Value(description)},
                        {"home", Value(home)},
                        {"details", Value(details)},
                        {"maintainers", texts(maintainers)},
                        {"dependencies", std::move(needs)},
                        {"inputs", inputs},
                        {"takesName", Value(takes_name)},
                        {"defaults", Value(defaults)},
                        {"files", texts(files)},
                        {"k3", Value(k3)},
                        {"module", Value(module)}});
}

PackageFacts PackageFacts::from_value(const Value& value) {
  PackageFacts facts;
  facts.format = value.string_at("format");
  facts.description = value.string_at("description");
  facts.home = value.string_at("home");
  facts.details = value.string_at("details");
  facts.maintainers = value.texts_at("maintainers");
  if (const Value* const needs = value.find("dependencies"); needs != nullptr && needs->is_array())
    for (const Value& each : needs->as_array())
      facts.dependencies.push_back(
          {std::string(each.string_at("name")), std::string(each.string_at("version"))});
  if (const Value* const inputs = value.find("inputs")) facts.inputs = *inputs;
  // An older catalog didn't ask.
  const Value* const takes_name = value.find("takesName");
  facts.takes_name = takes_name == nullptr || *takes_name == Value(true);
  facts.defaults = value.string_at("defaults");
  facts.files = value.texts_at("files");
  facts.k3 = value.string_at("k3");
  facts.module = value.string_at("module");
  return facts;
}

}  // namespace mist::catalog
