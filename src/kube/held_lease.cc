#include "kube/held_lease.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace mist::kube {

GroupKind lease_kind() { return {"coordination.k8s.io", "Lease"}; }

Status HeldLease::begin(const Context& context) {
  MIST_TRY(ref_.resource, client_.resource_for(lease_kind(), "v1", context));
  ref_.ns = terms_.ns;
  ref_.name = terms_.name;
  return {};
}

Status HeldLease::take(const std::optional<Value>& found, const Context& context) {
  const BootTime began = clock_.boot_now();
  MIST_TRY(lease_, found ? client_.update(ref_, wanted(*found), context)
                         : client_.create(ref_.resource, ref_.ns, wanted(Value::object()), context));
  renewed_at(began);
  return {};
}

std::optional<std::string> HeldLease::keep(Duration pause, const std::stop_token& stop) {
  std::string failure = "nothing ran here: this process was stopped, or its machine";
  while (clock_.sleep(pause, stop)) {
    if (in_force()) {
      const Status renewed = renew(Context(stop).with_timeout(terms_.term / 3));
      if (stop.stop_requested()) return std::nullopt;
      if (renewed.ok()) continue;
      failure = renewed.error().to_line();
      if (renewed.error().kind != ErrorKind::Conflict && in_force()) continue;
    }
    until_.store(0);
    return failure;
  }
  return std::nullopt;
}

Status HeldLease::renew(const Context& context) {
  const BootTime began = clock_.boot_now();
  auto updated = client_.update(ref_, wanted(lease_), context);
  if (!updated.ok() && updated.error().kind == ErrorKind::Conflict) {
    // Somebody may label it; or our own renewal arrived, and its answer did not.
    auto now = client_.get(ref_, context);
    if (!now.ok() && now.error().kind != ErrorKind::NotFound) return std::move(now).error();
    const std::string holder(now.ok() ? now->string_at({"spec", "holderIdentity"}) : std::string_view());
    if (now.ok() && holder != terms_.identity)
      return error(ErrorKind::Conflict, "{} holds it now",
                   holder.empty() ? "nobody" : escape_controls(holder));
    updated = now.ok() ? client_.update(ref_, wanted(*std::move(now)), context) : std::move(now);
  }
  if (!updated.ok() && updated.error().kind == ErrorKind::NotFound)
    return error(ErrorKind::Conflict, "it was deleted");
  if (!updated.ok()) return std::move(updated).error();
  lease_ = *std::move(updated);
  renewed_at(began);
  return {};
}

Status HeldLease::give_back(const Context& context) {
  Value lease = wanted(lease_);
  lease["spec"].set("holderIdentity", "");
  lease["spec"].set("leaseDurationSeconds", std::int64_t{1});
  MIST_TRY_VOID(client_.update(ref_, lease, context));
  return {};
}

Status HeldLease::remove(const Context& context) {
  MIST_TRY_VOID(client_.remove(ref_, {.uid = std::string(lease_.string_at({"metadata", "uid"}))}, context));
  return {};
}

Duration HeldLease::term_of(const Value& lease) {
  return std::chrono::seconds(std::max<std::int64_t>(lease.int_at({"spec", "leaseDurationSeconds"}, 15), 1));
}

// The Lease as this process holds it.
Value HeldLease::wanted(Value lease) const {
  lease.set("apiVersion", "coordination.k8s.io/v1");
  lease.set("kind", "Lease");
  lease["metadata"].set("name", terms_.name);
  lease["metadata"].set("namespace", terms_.ns);
  for (const Value::Member& label : terms_.labels.as_object())
    lease["metadata"]["labels"].set(label.key, label.value);
  const std::string now = format_micro_time(clock_.now());
  Value& spec = lease["spec"];
  if (!spec.is_object()) spec = Value::object();
  if (spec.string_at("holderIdentity") != terms_.identity) {
    const Value* const transitions = spec.find("leaseTransitions");
    const bool is_new = transitions == nullptr || !transitions->is_int();
    spec.set("leaseTransitions", is_new ? std::int64_t{0} : transitions->as_int() + 1);
    spec.set("acquireTime", now);
  }
  spec.set("holderIdentity", terms_.identity);
  spec.set("leaseDurationSeconds", std::chrono::duration_cast<std::chrono::seconds>(terms_.term).count());
  spec.set("renewTime", now);
  return lease;
}

void HeldLease::renewed_at(BootTime began) {
  until_.store((began + terms_.term * 2 / 3).time_since_epoch().count());
}

}  // namespace mist::kube
