#include "action/authoring/live_fields.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "base/text.h"

namespace mist::action {
namespace {

using encoding::Value;

// Of items of a list.
constexpr std::string_view kEachItem = "[]";
constexpr std::size_t kMostLiveSteps = 5;

struct LiveField {
  apimachinery::GroupKind kind;  // empty: any
  std::array<std::string_view, kMostLiveSteps> steps;
};

const apimachinery::GroupKind kOfAnyKind, kLiveService{"", "Service"},
    kLiveClaim{"", "PersistentVolumeClaim"}, kLiveAccount{"", "ServiceAccount"}, kLivePod{"", "Pod"},
    kLiveJob{"batch", "Job"};

const std::array kLiveFields{
    LiveField{kOfAnyKind, {"metadata", "ownerReferences"}},
    LiveField{kOfAnyKind, {"metadata", "finalizers"}},
    LiveField{kLiveService, {"spec", "clusterIP"}},
    LiveField{kLiveService, {"spec", "clusterIPs"}},
    LiveField{kLiveService, {"spec", "healthCheckNodePort"}},
    LiveField{kLiveService, {"spec", "ports", kEachItem, "nodePort"}},
    LiveField{kLiveClaim, {"spec", "volumeName"}},
    LiveField{kLiveClaim, {"metadata", "annotations", "pv.kubernetes.io/bind-completed"}},
    LiveField{kLiveClaim, {"metadata", "annotations", "pv.kubernetes.io/bound-by-controller"}},
    LiveField{kLiveClaim, {"metadata", "annotations", "volume.kubernetes.io/selected-node"}},
    LiveField{kLiveClaim, {"metadata", "annotations", "volume.kubernetes.io/storage-provisioner"}},
    LiveField{kLiveClaim, {"metadata", "annotations", "volume.beta.kubernetes.io/storage-provisioner"}},
    LiveField{kLiveAccount, {"secrets"}},
    LiveField{kLivePod, {"spec", "nodeName"}},
    LiveField{kLiveJob, {"spec", "selector"}},
    LiveField{kLiveJob, {"metadata", "labels", "controller-uid"}},
    LiveField{kLiveJob, {"metadata", "labels", "batch.kubernetes.io/controller-uid"}},
    LiveField{kLiveJob, {"metadata", "labels", "job-name"}},
    LiveField{kLiveJob, {"metadata", "labels", "batch.kubernetes.io/job-name"}},
    LiveField{kLiveJob, {"spec", "template", "metadata", "labels", "controller-uid"}},
    LiveField{kLiveJob, {"spec", "template", "metadata", "labels", "batch.kubernetes.io/controller-uid"}},
    LiveField{kLiveJob, {"spec", "template", "metadata", "labels", "job-name"}},
    LiveField{kLiveJob, {"spec", "template", "metadata", "labels", "batch.kubernetes.io/job-name"}},
};

// Without an address by intent; and a Job whose author chose the selector.
bool is_meant_live(const apimachinery::Object& object, const LiveField& field) {
  const Value& value = object.value();
  if (field.kind == kLiveService && field.steps[1].starts_with("clusterIP"))
    return value.string_at({"spec", "clusterIP"}) == "None";
  const Value* const manual = value.at_path({"spec", "manualSelector"});
  return field.kind == kLiveJob && manual != nullptr && *manual == Value(true);
}

bool take_at(Value& value, std::span<const std::string_view> steps) {
  if (steps.front() == kEachItem) {
    bool taken = false;
    if (value.is_array())
      for (Value& item : value.as_array()) taken |= take_at(item, steps.subspan(1));
    return taken;
  }
  if (!value.is_object()) return false;
  if (steps.size() == 1) return value.erase(steps.front());
  Value* const inner = value.find(steps.front());
  if (inner == nullptr || !take_at(*inner, steps.subspan(1))) return false;
  if (inner->is_object() && inner->as_object().empty()) value.erase(steps.front());
  return true;
}

// "spec.ports[].nodePort"; keys with dots in brackets.
std::string place_of_steps(std::span<const std::string_view> steps) {
  std::string place;
  for (const std::string_view step : steps) {
    if (step == kEachItem)
      place += step;
    else if (step.contains('.'))
      place += fmt::format("[{}]", step);
    else
      place += fmt::format("{}{}", place.empty() ? "" : ".", step);
  }
  return place;
}

}  // namespace

std::vector<std::string> take_live_fields(apimachinery::Object& object) {
  std::vector<std::string> taken;
  for (const LiveField& each : kLiveFields) {
    if (each.kind != kOfAnyKind && each.kind != object.gvk().group_kind()) continue;
    if (is_meant_live(object, each)) continue;
    const auto end = std::ranges::find(each.steps, std::string_view());
    const std::span steps(each.steps.begin(), end);
    if (take_at(object.mutable_value(), steps)) taken.push_back(place_of_steps(steps));
  }
  return taken;
}

}  // namespace mist::action
