#include "apply/order/pod_template.h"

#include <array>

namespace mist::apply {
namespace {

struct TemplatePlace {
  std::string_view group, kind;
  std::array<std::string_view, 4> path;
};
constexpr std::array<TemplatePlace, 9> kPlaces{
    {{"", "Pod", {}},
     {"", "PodTemplate", {"template"}},
     {"", "ReplicationController", {"spec", "template"}},
     {"apps", "Deployment", {"spec", "template"}},
     {"apps", "ReplicaSet", {"spec", "template"}},
     {"apps", "StatefulSet", {"spec", "template"}},
     {"apps", "DaemonSet", {"spec", "template"}},
     {"batch", "Job", {"spec", "template"}},
     {"batch", "CronJob", {"spec", "jobTemplate", "spec", "template"}}}};

}  // namespace

const encoding::Value* pod_template(const apimachinery::Object& object) {
  for (const TemplatePlace& place : kPlaces) {
    if (place.group != object.gvk().group || place.kind != object.gvk().kind) continue;
    const encoding::Value* value = &object.value();
    for (const std::string_view step : place.path) {
      if (step.empty() || value == nullptr) break;
      value = value->find(step);
    }
    return value;
  }
  return nullptr;
}

}  // namespace mist::apply
