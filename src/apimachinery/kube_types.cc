#include "apimachinery/kube_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>

#include "apimachinery/built_in_groups.h"
#include "base/text.h"
#include "encoding/json.h"

namespace mist::apimachinery {
namespace {

using encoding::Value;

constexpr int kMostReplacements = 8;  // of replacements

GroupVersionKind kind_in(const Value& value) {
  return {std::string(value.string_at("group")), std::string(value.string_at("version")),
          std::string(value.string_at("kind"))};
}

std::optional<int> number_in(const Value& value, std::string_view name) {
  const Value* const found = value.find(name);
  if (found == nullptr || found->kind() != Value::Kind::Int) return std::nullopt;
  return static_cast<int>(found->as_int());
}

// Stable versions before betas before alphas, and of these the newest: what Kubernetes prefers.
auto rank(std::string_view version) {
  const std::size_t digits = version.find_first_not_of("0123456789", 1);
  const std::string_view rest =
      digits == std::string_view::npos ? std::string_view() : version.substr(digits);
  const auto number = [](std::string_view text) {
    int value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  const int stage = rest.empty() ? 2 : rest.starts_with("beta") ? 1 : 0;
  const auto last = rest.find_first_of("0123456789");
  return std::tuple(stage, number(version.substr(std::min<std::size_t>(1, version.size()))),
                    last == std::string_view::npos ? 0 : number(rest.substr(last)));
}

}  // namespace

std::optional<KubeMinor> KubeMinor::parse(std::string_view version) {
  if (version.starts_with('v')) version.remove_prefix(1);
  if (!version.starts_with("1.")) return std::nullopt;
  version.remove_prefix(2);
  KubeMinor minor;
  const auto [stop, failed] = std::from_chars(version.data(), version.data() + version.size(), minor.number);
  const std::string_view rest(stop, version.data() + version.size());
  const bool ends = rest.empty() || rest.starts_with('.') || rest.starts_with('+') || rest.starts_with('-');
  if (failed != std::errc() || minor.number < 0 || !ends) return std::nullopt;
  return minor;
}

std::string KubeMinor::text() const { return fmt::format("1.{}", number); }

Result<KubeTypes> KubeTypes::parse(std::string_view json) {
  MIST_TRY(Value table, encoding::parse_json(json));
  const auto minor = KubeMinor::parse(table.string_at("kubernetes"));
  Value* const schemas = table.find("schemas");
  const Value* const lifecycles = table.find("lifecycle");
  if (!minor || schemas == nullptr || !schemas->is_object() || lifecycles == nullptr ||
      !lifecycles->is_array())
    return error(ErrorKind::Invalid, "it is not a table of the types of a Kubernetes");
  KubeTypes types;
  types.minor_ = *minor;
  for (const Value& each : lifecycles->as_array()) {
    const GroupVersionKind kind = kind_in(each);
    const Value* const replacement = each.find("replacement");
    types.groups_.insert(kind.group);
    types.lifecycles_.emplace(
        kind, Lifecycle{number_in(each, "deprecated").value_or(0), number_in(each, "removed"),
                        replacement == nullptr ? std::nullopt : std::optional(kind_in(*replacement))});
  }
  for (const Value::Member& schema : schemas->as_object()) {
    const Value* const kinds = schema.value.find("x-kubernetes-group-version-kind");
    if (kinds == nullptr || !kinds->is_array()) continue;
    for (const Value& each : kinds->as_array()) {
      GroupVersionKind kind = kind_in(each);
      types.groups_.insert(kind.group);
      types.kinds_.insert(std::move(kind));
    }
  }
  types.schemas_ = std::move(*schemas);
  return types;
}

KindFacts KubeTypes::facts(const GroupVersionKind& gvk) const {
  if (!groups_.contains(gvk.group) && !is_built_in_group(gvk.group)) {
    // Groups of CustomResourceDefinitions have a dot.
    const std::string_view meant =
        nearest(gvk.group, std::vector<std::string_view>(groups_.begin(), groups_.end()));
    const bool misspelled = gvk.group.find('.') == std::string::npos ||
                            (!meant.empty() && best_version({std::string(meant), gvk.kind}, {}));
    if (!misspelled) return {KindState::Foreign, {}};
  }
  const std::string name = fmt::format("{} {}", gvk.api_version(), gvk.kind);
  const auto lifecycle = lifecycles_.find(gvk);
  const bool ends = lifecycle != lifecycles_.end();
  const std::string instead = instead_of(gvk);
  const std::string use = instead.empty() ? std::string() : fmt::format("; use {}", instead);
  if (kinds_.contains(gvk)) {
    if (!ends || lifecycle->second.deprecated > minor_.number) return {};
    const auto removed = lifecycle->second.removed;
    return {
        KindState::Deprecated,
        fmt::format("{} is deprecated since Kubernetes 1.{}{}{}", name, lifecycle->second.deprecated,
                    removed && *removed > minor_.number ? fmt::format(", and ends with 1.{}", *removed) : "",
                    use)};
  }
  if (ends && lifecycle->second.removed && *lifecycle->second.removed <= minor_.number)
    return {KindState::Gone,
            fmt::format("Kubernetes has no {} since 1.{}{}", name, *lifecycle->second.removed, use)};
  if (!use.empty())
    return {KindState::Unknown, fmt::format("Kubernetes {} has no {}{}", minor_.text(), name, use)};
  const std::string_view near = nearest(gvk.kind, kinds_of(gvk.group, gvk.version));
  return {KindState::Unknown,
          fmt::format("Kubernetes {} has no {}{}", minor_.text(), name,
                      near.empty() ? std::string() : fmt::format(" (did you mean {}?)", near))};
}

std::vector<SchemaProblem> KubeTypes::problems(const Object& object) const {
  return schema_problems(object, schemas_, RequiredFields::Checked);
}

// "networking.k8s.io/v1", with the kind where it is another; empty: nothing.
std::string KubeTypes::instead_of(const GroupVersionKind& gvk) const {
  std::optional<GroupVersionKind> other = gvk;
  for (int hops = 0; hops < kMostReplacements && other; ++hops) {
    const auto lifecycle = lifecycles_.find(*other);
    const bool replaced = lifecycle != lifecycles_.end() && lifecycle->second.replacement;
    other = replaced ? lifecycle->second.replacement : std::nullopt;
    if (other && kinds_.contains(*other)) break;
  }
  if (!other || !kinds_.contains(*other)) other = best_version(gvk.group_kind(), gvk.version);
  // The group may be another's: "v1" for a Deployment.
  for (auto group = groups_.begin(); !other && group != groups_.end(); ++group) {
    if (!kinds_.contains(gvk)) other = best_version({*group, gvk.kind}, {});
  }
  if (!other) return {};
  return other->kind == gvk.kind ? other->api_version()
                                 : fmt::format("{} {}", other->api_version(), other->kind);
}

std::optional<GroupVersionKind> KubeTypes::best_version(const GroupKind& kind,
                                                        std::string_view other_than) const {
  std::optional<GroupVersionKind> best;
  for (auto each = kinds_.lower_bound({kind.group, "", ""});
       each != kinds_.end() && each->group == kind.group; ++each) {
    if (each->kind != kind.kind || each->version == other_than) continue;
    if (!best || rank(best->version) < rank(each->version)) best = *each;
  }
  return best;
}

std::vector<std::string_view> KubeTypes::kinds_of(const std::string& group,
                                                  const std::string& version) const {
  std::vector<std::string_view> names;
  for (auto each = kinds_.lower_bound({group, version, ""});
       each != kinds_.end() && each->group == group && each->version == version; ++each)
    names.push_back(each->kind);
  return names;
}

}  // namespace mist::apimachinery
