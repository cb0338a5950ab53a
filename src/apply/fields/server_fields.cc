#include "apply/fields/server_fields.h"

#include <algorithm>
#include <array>

#include "apimachinery/built_in_groups.h"
#include "apply/order/pod_template.h"
#include "apply/plan/desired.h"
#include "base/some_of.h"
#include "base/text.h"

namespace mist::apply {
namespace {

using apimachinery::GroupKind;
using apimachinery::Object;

// Of metadata, wherever it stands. finalizers, ownerReferences and annotations are what people write too.
constexpr std::array<std::string_view, 8> kServerMetadata{"creationTimestamp", "deletionGracePeriodSeconds",
                                                          "deletionTimestamp", "generation",
                                                          "managedFields",     "resourceVersion",
                                                          "selfLink",          "uid"};

// Where a built-in kind has the metadata of what it makes; a step with [] is each item of a list.
struct Template {
  std::string_view group, kind, path;
};
constexpr std::array kTemplates{
    Template{"", "PodTemplate", "template"},
    Template{"", "ReplicationController", "spec.template"},
    Template{"apps", "DaemonSet", "spec.template"},
    Template{"apps", "Deployment", "spec.template"},
    Template{"apps", "ReplicaSet", "spec.template"},
    Template{"apps", "StatefulSet", "spec.template"},
    Template{"apps", "StatefulSet", "spec.volumeClaimTemplates[]"},
    Template{"batch", "CronJob", "spec.jobTemplate"},
    Template{"batch", "CronJob", "spec.jobTemplate.spec.template"},
    Template{"batch", "Job", "spec.template"},
};

constexpr std::size_t kMostWarnings = 5;

// Empty values, which generators write because their types have the field.
bool says_nothing(const Value& value) {
  if (value.is_array()) return std::ranges::all_of(value.as_array(), says_nothing);
  if (value.is_object())
    return std::ranges::all_of(value.as_object(),
                               [](const auto& member) { return says_nothing(member.value); });
  return value.is_null() || (value.is_string() && value.as_string().empty());
}

class Taking {
 public:
  std::vector<LeftOut> taken;

  void take(Value& object, std::string_view name, const std::string& path) {
    const Value* const value = object.find(name);
    if (value == nullptr) return;
    if (!says_nothing(*value))
      taken.push_back({.path = fmt::format("{}{}", path, name), .line = value->position().line});
    object.erase(name);
  }

  void take_metadata(Value& object, const std::string& path) {
    Value* const metadata = object.is_object() ? object.find("metadata") : nullptr;
    if (metadata == nullptr || !metadata->is_object()) return;
    for (const std::string_view name : kServerMetadata) take(*metadata, name, path + "metadata.");
  }

  // Of what `object` makes: `rest` is the way that is left.
  void take_template(Value& object, std::string_view rest, const std::string& path) {
    if (rest.empty()) {
      take_metadata(object, path);
      // A claim's template is a whole claim.
      if (path.ends_with("].")) take(object, "status", path);
      return;
    }
    const auto dot = rest.find('.');
    std::string_view step = rest.substr(0, dot);
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
    const bool each = step.ends_with("[]");
    if (each) step.remove_suffix(2);
    Value* const next = object.is_object() ? object.find(step) : nullptr;
    if (next == nullptr) return;
    if (!each) return take_template(*next, rest, fmt::format("{}{}.", path, step));
    if (!next->is_array()) return;
    for (std::size_t i = 0; i < next->size(); ++i)
      take_template(next->as_array()[i], rest, fmt::format("{}{}[{}].", path, step, i));
  }
};

std::string place_of(const DesiredObject& object) {
  return object.rendered.place({.line = object.left_out.front().line}).text();
}

// "metadata.uid, status (only the server sets them)".
std::string words_of(const std::vector<LeftOut>& fields, LeftOutBecause because, std::string_view one,
                     std::string_view several) {
  std::vector<std::string> paths;
  for (const LeftOut& each : fields) {
    if (each.because == because && std::ranges::find(paths, each.path) == paths.end())
      paths.push_back(each.path);
  }
  if (paths.empty()) return {};
  constexpr std::size_t kShown = 8;
  const std::string_view reason = paths.size() == 1 ? one : several;
  return fmt::format("{} ({})", some_of(std::move(paths), kShown), reason);
}

std::string words_of(const std::vector<LeftOut>& fields) {
  std::vector<std::string> parts{words_of(fields, LeftOutBecause::OnlyTheServerSetsIt,
                                          "only the server sets it", "only the server sets them"),
                                 words_of(fields, LeftOutBecause::ItsKindHasNoNamespace,
                                          "its kind has no namespace", "their kind has no namespace")};
  std::erase(parts, "");
  return join(parts, ", ");
}

}  // namespace

std::vector<LeftOut> take_server_fields(Object& object, bool status) {
  Taking taking;
  Value& value = object.mutable_value();
  taking.take_metadata(value, "");
  const GroupKind kind = object.gvk().group_kind();
  for (const Template& each : kTemplates) {
    if (each.group == kind.group && each.kind == kind.kind) taking.take_template(value, each.path, "");
  }
  if (status) taking.take(value, "status", "");
  return std::move(taking.taken);
}

void warn_of_left_out(const std::vector<DesiredObject>& desired, EventSink& events) {
  std::vector<const DesiredObject*> objects;
  for (const DesiredObject& object : desired) {
    if (!object.left_out.empty()) objects.push_back(&object);
  }
  if (objects.size() <= kMostWarnings) {
    for (const DesiredObject* object : objects)
      events.warn(escape_controls(fmt::format("{} ({}) is applied without {}", object->key.display(),
                                              place_of(*object), words_of(object->left_out))));
    return;
  }
  std::vector<LeftOut> all;
  for (const DesiredObject* object : objects)
    all.insert(all.end(), object->left_out.begin(), object->left_out.end());
  events.warn(escape_controls(fmt::format("{} are applied without {}; the first is {} ({})",
                                          plural(objects.size(), "object"), words_of(all),
                                          objects.front()->key.display(), place_of(*objects.front()))));
}

}  // namespace mist::apply
