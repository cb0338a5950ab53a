#include "kube/lost_version.h"

#include <algorithm>

namespace mist::kube {
namespace {

// More versions than a kind had in its life, and more writers than one meets at once.
constexpr int kTries = 8;

// With the version that `failure` names made the present one; null: nothing has that version.
Value with_present_version(const Value& live, const Error& failure, const std::string& present) {
  const Value* entries = live.at_path({"metadata", "managedFields"});
  if (entries == nullptr || !entries->is_array()) return {};
  Value renewed = *entries;
  bool found = false;
  for (Value& entry : renewed.as_array()) {
    const std::string_view version = entry.string_at("apiVersion");
    if (version.empty() || version == present || !failure.because.ends_with(fmt::format(": {}", version)))
      continue;
    entry.set("apiVersion", present);
    found = true;
  }
  return found ? renewed : Value();
}

// Makes `object`, if it names a version, name the one that this wrote.
Status renew_owners(Client& client, const ObjectRef& ref, Value& object, const Error& failure,
                    const Context& context) {
  MIST_TRY(const Value live, client.get(ref, context));
  Value patch = Value::object();
  for (const std::string_view guard : {"uid", "resourceVersion"}) {
    const std::string_view wanted = object.string_at({"metadata", guard});
    const std::string_view there = live.string_at({"metadata", guard});
    // It isn't the object that is meant: the apply can't change that.
    if (!wanted.empty() && wanted != there) return failure;
    patch["metadata"].set(guard, there);
  }
  Value owners = with_present_version(live, failure, ref.resource.gvk.api_version());
  if (owners.is_null()) return failure;
  patch["metadata"].set("managedFields", std::move(owners));
  MIST_TRY(const Value patched, client.merge_patch(ref, patch, context));
  if (!object.string_at({"metadata", "resourceVersion"}).empty())
    object["metadata"].set("resourceVersion", patched.string_at({"metadata", "resourceVersion"}));
  return {};
}

}  // namespace

bool is_lost_version(const Error& failure) {
  return std::ranges::find(failure.frames, kLostVersionFrame) != failure.frames.end();
}

Result<Value> apply_over_lost_version(Client& client, const ObjectRef& ref, const Value& object,
                                      const ApplyOptions& options, const Context& context) {
  auto applied = client.apply(ref, object, options, context);
  Value renewed = object;
  for (int i = 0; i < kTries && !applied.ok() && is_lost_version(applied.error()); ++i) {
    if (options.dry_run != DryRun::No) break;
    const Status done = renew_owners(client, ref, renewed, applied.error(), context);
    // Of a Conflict the next apply tells whether somebody else did it.
    if (!done.ok() && done.error().kind != ErrorKind::Conflict) return done.error();
    applied = client.apply(ref, renewed, options, context);
  }
  return applied;
}

}  // namespace mist::kube
