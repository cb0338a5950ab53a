#include "reconcile/ownership.h"

#include <algorithm>

#include "apply/reserved_metadata.h"

namespace mist::reconcile {
namespace {

// The owner that manages it; null: none does.
const Value* controller_of(const Value& object) {
  const Value* const owners = object.at_path({"metadata", "ownerReferences"});
  if (owners == nullptr || !owners->is_array()) return nullptr;
  const auto found = std::ranges::find_if(owners->as_array(),
                                          [](const Value& each) { return each.is_true_at("controller"); });
  return found == owners->as_array().end() ? nullptr : &*found;
}

}  // namespace

bool is_instances(const Value& object, std::string_view uid) {
  return object.string_at({"metadata", "labels", kInstanceLabel}) == uid ||
         object.string_at({"metadata", "annotations", kInstanceLabel}) == uid;
}

bool has_finalizer(const Value& object) {
  const Value* list = object.at_path({"metadata", "finalizers"});
  return list != nullptr && list->is_array() &&
         std::ranges::any_of(list->as_array(), [](const Value& each) { return each == Value(kFinalizer); });
}

void take_finalizer_off(Value& object) {
  Value* const metadata = object.find("metadata");
  Value* const list = metadata == nullptr ? nullptr : metadata->find("finalizers");
  if (list == nullptr || !list->is_array()) return;
  std::erase(list->as_array(), Value(kFinalizer));
  if (list->empty()) metadata->erase("finalizers");
}

void remove_ownership(Value& object) {
  take_finalizer_off(object);
  Value* const metadata = object.find("metadata");
  if (metadata == nullptr) return;
  if (Value* const labels = metadata->find("labels")) labels->erase(kInstanceLabel);
  if (Value* const annotations = metadata->find("annotations"))
    for (const std::string_view mark : {kInstanceLabel, kHashAnnotation}) annotations->erase(mark);
}

bool has_controller(const Value& object) { return controller_of(object) != nullptr; }

std::string owner_words(const Value& object) {
  if (const Value* const controller = controller_of(object))
    return fmt::format("{} {}", controller->string_at("kind"), controller->string_at("name"));
  const auto mark = [&](std::string_view part, std::string_view name) {
    return object.string_at({"metadata", part, name});
  };
  if (const auto name = mark("annotations", "meta.helm.sh/release-name"); !name.empty())
    return fmt::format("Helm's release {}", name);
  if (!mark("annotations", "argocd.argoproj.io/tracking-id").empty()) return "Argo CD";
  for (const std::string_view flux : {"kustomize.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/name"})
    if (const auto name = mark("labels", flux); !name.empty()) return fmt::format("Flux's {}", name);
  if (const auto release = mark("annotations", apply::kReleaseAnnotation); !release.empty())
    return fmt::format("release {}", release);
  for (const std::string_view part : {"labels", "annotations"}) {
    if (const auto instance = mark(part, kInstanceLabel); !instance.empty())
      return fmt::format("another instance (its {} is {}; remove that if no instance has this uid)",
                         kInstanceLabel, instance);
    if (const auto set = mark(part, apply::kPartOfLabel); !set.empty())
      return fmt::format("ApplySet {}", set);
  }
  return {};
}

}  // namespace mist::reconcile
