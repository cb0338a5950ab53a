#include "apply/plan/admission_judges.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kube/api_failure.h"

namespace mist::apply {

using encoding::Value;

namespace {

constexpr std::array<std::pair<const char*, const char*>, 3> kJudges{
    {{"ValidatingAdmissionPolicy", "validatingadmissionpolicies"},
     {"ValidatingWebhookConfiguration", "validatingwebhookconfigurations"},
     {"MutatingWebhookConfiguration", "mutatingwebhookconfigurations"}}};

bool has_any_of(const Value* list, std::string_view all, std::string_view one) {
  return list != nullptr && list->is_array() && std::ranges::any_of(list->as_array(), [&](const Value& each) {
           return each.is_string() && (each.as_string() == all || each.as_string() == one);
         });
}

}  // namespace

AdmissionJudges AdmissionJudges::read(kube::Client& client, std::string_view operation,
                                      const Context& context) {
  AdmissionJudges judges;
  for (const auto& [kind, plural] : kJudges) {
    const kube::ResourceInfo resource{{"admissionregistration.k8s.io", "v1", kind}, plural, false, {}};
    const auto found = client.list(resource, {}, context);
    // Servers before 1.30 have no policies.
    if (!found.ok() && !kube::is_not_served(found.error()) && found.error().kind != ErrorKind::NotFound)
      judges.unknown_ = true;
    if (!found.ok()) continue;
    for (const Value& each : found->items) {
      judges.add_rules(each.at_path({"spec", "matchConstraints", "resourceRules"}), operation);
      const Value* const webhooks = each.find("webhooks");
      if (webhooks == nullptr || !webhooks->is_array()) continue;
      for (const Value& webhook : webhooks->as_array()) judges.add_rules(webhook.find("rules"), operation);
    }
  }
  return judges;
}

bool AdmissionJudges::judge(const apimachinery::GroupKind& kind) const {
  return unknown_ || std::ranges::any_of(rules_, [&](const Value& rule) {
           return has_any_of(rule.find("apiGroups"), "*", kind.group);
         });
}

void AdmissionJudges::add_rules(const Value* rules, std::string_view operation) {
  if (rules == nullptr || !rules->is_array()) return;
  for (const Value& rule : rules->as_array())
    if (has_any_of(rule.find("operations"), "*", operation)) rules_.push_back(rule);
}

}  // namespace mist::apply
