#include "apply/fields/keyed_lists.h"

#include <algorithm>
#include <array>
#include <map>

#include "apply/order/pod_template.h"
#include "base/text.h"
#include "encoding/json.h"

namespace mist::apply {
namespace {

using apimachinery::GroupKind;
using encoding::Value;

// A step of a path is a member, `x[]` each item of a list, `**` everything below.
struct KeyedList {
  std::string_view path;
  std::string_view keys;  // joined by commas; empty: a set
};
struct KeyedListOfKind {
  std::string_view group, kind;
  KeyedList list;
};

// tests/e2e/test_errors.py compares these tables with the server's OpenAPI document.
constexpr std::array kOfAll{
    KeyedList{"metadata.ownerReferences", "uid"},
    KeyedList{"metadata.finalizers", ""},
};
constexpr std::array kOfContainers{
    KeyedList{"env", "name"},
    KeyedList{"ports", "containerPort,protocol"},
    KeyedList{"resources.claims", "name"},
    KeyedList{"restartPolicyRules[].exitCodes.values", ""},
    KeyedList{"volumeDevices", "devicePath"},
    KeyedList{"volumeMounts", "mountPath"},
};
constexpr std::array<std::string_view, 3> kContainers{"containers", "initContainers", "ephemeralContainers"};
constexpr std::array kOfPods{
    KeyedList{"containers", "name"},
    KeyedList{"ephemeralContainers", "name"},
    KeyedList{"hostAliases", "ip"},
    KeyedList{"imagePullSecrets", "name"},
    KeyedList{"initContainers", "name"},
    KeyedList{"resourceClaims", "name"},
    KeyedList{"resources.claims", "name"},
    KeyedList{"schedulingGates", "name"},
    KeyedList{"topologySpreadConstraints", "topologyKey,whenUnsatisfiable"},
    KeyedList{"volumes", "name"},
};
constexpr std::string_view kAdmission = "admissionregistration.k8s.io";
constexpr std::string_view kFlows = "flowcontrol.apiserver.k8s.io";
constexpr std::array kOfKinds{
    KeyedListOfKind{"", "Node", {"spec.podCIDRs", ""}},
    KeyedListOfKind{"", "Service", {"spec.ports", "port,protocol"}},
    KeyedListOfKind{"", "ServiceAccount", {"secrets", "name"}},
    KeyedListOfKind{kAdmission, "MutatingAdmissionPolicy", {"spec.matchConditions", "name"}},
    KeyedListOfKind{kAdmission, "ValidatingAdmissionPolicy", {"spec.matchConditions", "name"}},
    KeyedListOfKind{kAdmission, "ValidatingAdmissionPolicy", {"spec.variables", "name"}},
    KeyedListOfKind{kAdmission, "ValidatingAdmissionPolicyBinding", {"spec.validationActions", ""}},
    KeyedListOfKind{kAdmission, "MutatingWebhookConfiguration", {"webhooks", "name"}},
    KeyedListOfKind{kAdmission, "MutatingWebhookConfiguration", {"webhooks[].matchConditions", "name"}},
    KeyedListOfKind{kAdmission, "ValidatingWebhookConfiguration", {"webhooks", "name"}},
    KeyedListOfKind{kAdmission, "ValidatingWebhookConfiguration", {"webhooks[].matchConditions", "name"}},
    KeyedListOfKind{"apiextensions.k8s.io",
                    "CustomResourceDefinition",
                    {"spec.versions[].schema.openAPIV3Schema.**.x-kubernetes-validations", "rule"}},
    KeyedListOfKind{"batch", "Job", {"spec.podFailurePolicy.rules[].onExitCodes.values", ""}},
    KeyedListOfKind{
        "batch", "CronJob", {"spec.jobTemplate.spec.podFailurePolicy.rules[].onExitCodes.values", ""}},
    KeyedListOfKind{"discovery.k8s.io", "EndpointSlice", {"endpoints[].addresses", ""}},
    KeyedListOfKind{kFlows, "FlowSchema", {"spec.rules[].nonResourceRules[].nonResourceURLs", ""}},
    KeyedListOfKind{kFlows, "FlowSchema", {"spec.rules[].nonResourceRules[].verbs", ""}},
    KeyedListOfKind{kFlows, "FlowSchema", {"spec.rules[].resourceRules[].apiGroups", ""}},
    KeyedListOfKind{kFlows, "FlowSchema", {"spec.rules[].resourceRules[].namespaces", ""}},
    KeyedListOfKind{kFlows, "FlowSchema", {"spec.rules[].resourceRules[].resources", ""}},
    KeyedListOfKind{kFlows, "FlowSchema", {"spec.rules[].resourceRules[].verbs", ""}},
    KeyedListOfKind{"storage.k8s.io", "CSIDriver", {"spec.volumeLifecycleModes", ""}},
    KeyedListOfKind{"storage.k8s.io", "CSINode", {"spec.drivers", "name"}},
};

// The one key that the API server fills in where it is missing, and the one that may be the empty text.
std::string_view default_of(std::string_view key, std::string_view list) {
  if (key == "protocol") return R"("TCP")";
  return list.ends_with("imagePullSecrets") ? R"("")" : "";
}

std::string key_text(const Value& value) {
  return value.is_string() ? value.as_string() : encoding::to_json(value);
}

class Search {
 public:
  std::vector<DuplicateItem> found;

  void along(const Value& value, std::string_view rest, const KeyedList& list, const std::string& path) {
    if (rest.empty()) {
      std::vector<std::string_view> keys;
      if (!list.keys.empty()) keys = split(list.keys, ',');
      find_duplicates(value, keys, path, found);
      return;
    }
    const auto dot = rest.find('.');
    std::string_view step = rest.substr(0, dot);
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
    if (step == "**") return everywhere(value, rest, list, path);
    const bool each = step.ends_with("[]");
    if (each) step.remove_suffix(2);
    const Value* const next = value.is_object() ? value.find(step) : nullptr;
    if (next == nullptr) return;
    std::string below = path.empty() ? std::string(step) : fmt::format("{}.{}", path, step);
    if (!each) return along(*next, rest, list, below);
    if (!next->is_array()) return;
    for (std::size_t i = 0; i < next->size(); ++i)
      along(next->as_array()[i], rest, list, fmt::format("{}[{}]", below, i));
  }

 private:
  void everywhere(const Value& value, std::string_view rest, const KeyedList& list, const std::string& path) {
    if (value.is_array()) {
      for (std::size_t i = 0; i < value.size(); ++i)
        everywhere(value.as_array()[i], rest, list, fmt::format("{}[{}]", path, i));
    }
    if (!value.is_object()) return;
    along(value, rest, list, path);
    for (const Value::Member& member : value.as_object())
      everywhere(member.value, rest, list, fmt::format("{}.{}", path, member.key));
  }
};

// "spec.template.": where the object's pod template is.
std::string template_path(const GroupKind& kind) {
  if (kind == GroupKind{"", "Pod"}) return "";
  if (kind == GroupKind{"", "PodTemplate"}) return "template.";
  return kind.kind == "CronJob" ? "spec.jobTemplate.spec.template." : "spec.template.";
}

}  // namespace

void find_duplicates(const Value& list, const std::vector<std::string_view>& keys, const std::string& path,
                     std::vector<DuplicateItem>& found) {
  if (!list.is_array()) return;
  std::map<std::string, const Value*> seen;
  for (const Value& item : list.as_array()) {
    std::string key, text;
    bool whole = true;
    for (const std::string_view name : keys) {
      const Value* const part = item.is_object() ? item.find(name) : nullptr;
      const bool missing = part == nullptr || part->is_null();
      const std::string_view fallback = default_of(name, path);
      if (missing && fallback.empty()) whole = false;
      if (!whole) break;
      key += (missing ? std::string(fallback) : encoding::to_json(*part)) + '\n';
      const std::string_view usual = fallback.size() > 2 ? fallback.substr(1, fallback.size() - 2) : "";
      text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name,
                          missing ? std::string(usual) : key_text(*part));
    }
    // Without its key an item is refused for that.
    if (!whole) continue;
    if (keys.empty()) key = encoding::to_json(item), text = key_text(item);
    const auto [first, fresh] = seen.emplace(std::move(key), &item);
    if (fresh) continue;
    found.push_back({.list = path,
                     .key = std::move(text),
                     .line = item.position().line,
                     .first_line = first->second->position().line,
                     .item = &item});
  }
}

std::vector<DuplicateItem> duplicate_items(const apimachinery::Object& object) {
  const Value& value = object.value();
  const GroupKind kind = object.gvk().group_kind();
  Search search;
  for (const KeyedList& list : kOfAll) search.along(value, list.path, list, "");
  for (const KeyedListOfKind& row : kOfKinds) {
    if (row.group == kind.group && row.kind == kind.kind) search.along(value, row.list.path, row.list, "");
  }
  const Value* const pods = pod_template(object);
  const Value* const spec = pods == nullptr || !pods->is_object() ? nullptr : pods->find("spec");
  if (spec == nullptr) return std::move(search.found);
  const std::string below = template_path(kind) + "spec";
  for (const KeyedList& list : kOfPods) search.along(*spec, list.path, list, below);
  for (const std::string_view containers : kContainers) {
    for (const KeyedList& list : kOfContainers)
      search.along(*spec, fmt::format("{}[].{}", containers, list.path), list, below);
  }
  return std::move(search.found);
}

}  // namespace mist::apply
