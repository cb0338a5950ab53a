#include "reconcile/release_node.h"

#include <algorithm>

#include "apimachinery/conditions.h"
#include "apimachinery/object.h"
#include "base/text.h"
#include "reconcile/status.h"

namespace mist::reconcile {

using apimachinery::condition_of;

namespace {

constexpr std::string_view kAccountField = "serviceAccountName";

bool is_release(const Value& object) { return reconcile::is_release(id_of(object)); }

const Value* ready_now(const Value& release) {
  const Value* const ready = condition_of(release, "Ready");
  return ready != nullptr && ready->int_at("observedGeneration") == release.int_at({"metadata", "generation"})
             ? ready
             : nullptr;
}

}  // namespace

bool is_release(const ObjectId& id) { return id.kind == kReleaseKind && id.gvk().group == kReleaseGroup; }

std::pair<std::string, std::string> release_named_by(const Value& release) {
  const auto either = [&](std::string_view field, std::string_view otherwise) {
    const std::string_view written = release.string_at({"spec", field});
    return std::string(written.empty() ? release.string_at({"metadata", otherwise}) : written);
  };
  return {either("targetNamespace", "namespace"), either("releaseName", "name")};
}

Value with_exports(Value release) {
  if (const Value* const exports = release.at_path({"status", "exports"})) {
    Value copy = *exports;
    release.set("exports", std::move(copy));
  }
  return release;
}

bool hides_export(const Value& release, std::string_view path) {
  const Value* const hidden = release.at_path({"status", "hiddenExports"});
  if (hidden == nullptr || !hidden->is_array()) return false;
  return std::ranges::any_of(hidden->as_array(), [&](const Value& each) {
    if (!each.is_string()) return false;
    // A dot alone: all of them.
    const std::string place = "exports" + (each.as_string() == "." ? std::string() : each.as_string());
    return path == place || path.starts_with(place + ".");
  });
}

bool is_unseen(const Value& release) { return ready_now(release) == nullptr; }

bool has_failed(const Value& release) {
  const Value* const ready = ready_now(release);
  if (ready == nullptr || ready->string_at("status") != "False") return false;
  return ready->string_at("reason") != "DependencyNotReady";
}

std::string release_words(const Value& release) {
  const Value* const ready = ready_now(release);
  if (ready == nullptr) {
    if (condition_of(release, "Suspended") != nullptr) return "it is suspended by its field spec.suspend";
    return condition_of(release, "Ready") == nullptr ? "no operator with --releases has looked at it yet"
                                                     : "its last change has not been looked at yet";
  }
  if (ready->string_at("status") == "True") return {};
  return fmt::format("{}: {}", ready->string_at("reason"), ready->string_at("message"));
}

void give_account(Value& made, const BlueprintAccount& account) {
  if (account.name.empty()) return;
  if (made.is_array()) {
    for (Value& each : made.as_array()) give_account(each, account);
    return;
  }
  if (!made.is_object() || !is_release(made)) return;
  if (made.string_at({"metadata", "namespace"}) != account.ns) return;
  if (made.string_at({"spec", kAccountField}).empty()) made["spec"].set(kAccountField, account.name);
}

}  // namespace mist::reconcile
