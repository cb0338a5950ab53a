#include "apply/plan/admission_judges.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "apply/plan/admission_change.h"
#include "kube/api_failure.h"

namespace mist::apply {

using encoding::Value;

namespace {

constexpr std::array<std::pair<const char*, const char*>, 3> kJudges{
    {{"ValidatingAdmissionPolicy", "validatingadmissionpolicies"},
     {"ValidatingWebhookConfiguration", "validatingwebhookconfigurations"},
     {"MutatingWebhookConfiguration", "mutatingwebhookconfigurations"}}};

}  // namespace

AdmissionJudges AdmissionJudges::read(kube::Client& client, std::string_view operation,
                                      const Context& context) {
  AdmissionJudges judges;
  judges.operation_ = operation;
  for (const auto& [kind, plural] : kJudges) {
    const kube::ResourceInfo resource{{"admissionregistration.k8s.io", "v1", kind}, plural, false, {}};
    auto found = client.list(resource, {}, context);
    // Servers before 1.30 have no policies.
    if (!found.ok() && !kube::is_not_served(found.error()) && found.error().kind != ErrorKind::NotFound)
      judges.unknown_ = true;
    if (!found.ok()) continue;
    std::ranges::move(found->items, std::back_inserter(judges.configurations_));
  }
  return judges;
}

bool AdmissionJudges::judge(const apimachinery::GroupKind& kind) const {
  return unknown_ || std::ranges::any_of(configurations_, [&](const Value& each) {
           return has_rule_for(each, kind.group, "", {operation_});
         });
}

}  // namespace mist::apply
