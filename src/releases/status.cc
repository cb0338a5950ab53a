#include "releases/status.h"

#include "apimachinery/conditions.h"
#include "apimachinery/object.h"
#include "base/text.h"
#include "reconcile/status.h"
#include "releases/resource.h"

namespace mist::releases {
namespace {

using apimachinery::condition_of;
using reconcile::condition;

// The server's limit, with room for what is appended.
constexpr std::size_t kLongestMessage = 8192;
constexpr std::string_view kCut = " …";
constexpr std::string_view kDriftDigest = "driftDigest";

// One that was shortened before stays as it is.
std::string shortened(std::string message) {
  if (message.size() <= kLongestMessage + kCut.size()) return message;
  std::size_t end = kLongestMessage;
  // Not in the middle of a character.
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0U) == 0x80U) --end;
  message.resize(end);
  return message.append(kCut);
}

void keep(Value& status, const Value& object, std::string_view key) {
  if (const Value* const kept = object.at_path({"status", key})) status.set(key, *kept);
}

Value attempt_value(const Attempt& attempt) {
  Value value = Value::object({{"inputs", attempt.inputs}, {"failures", attempt.failures}});
  if (!attempt.reason.empty()) value.set("reason", attempt.reason);
  if (!attempt.message.empty()) value.set("message", shortened(attempt.message));
  return value;
}

void set_exports(Value& status, const Value& object, const std::optional<render::PublicExports>& exports) {
  if (!exports) {
    keep(status, object, "exports");
    keep(status, object, "hiddenExports");
    return;
  }
  if (!exports->values.is_null()) status.set("exports", exports->values);
  if (!exports->hidden.empty())
    status.set("hiddenExports", Value(Value::Array(exports->hidden.begin(), exports->hidden.end())));
}

Drift drift_of(const Value& object) {
  const Value* const drifted = condition_of(object, "Drifted");
  if (drifted == nullptr) return {};
  return {std::string(drifted->string_at("message")), std::string(drift_digest_of(object))};
}

std::string_view asked_at(const Value& object) {
  return object.string_at({"metadata", "annotations", kReconcileAnnotation});
}

}  // namespace

Attempt attempt_of(const Value& object) {
  return {std::string(object.string_at({"status", "attempt", "inputs"})),
          static_cast<int>(object.int_at({"status", "attempt", "failures"})),
          std::string(object.string_at({"status", "attempt", "reason"})),
          std::string(object.string_at({"status", "attempt", "message"}))};
}

bool is_asked_again(const Value& object) {
  return asked_at(object) != object.string_at({"status", "handledReconcileAt"});
}

std::string_view drift_digest_of(const Value& object) { return object.string_at({"status", kDriftDigest}); }

std::int64_t applied_generation(const Value& object) {
  return object.int_at({"status", "appliedGeneration"});
}

bool is_owned(const Value& object) {
  return applied_generation(object) != 0 || attempt_of(object).failures > 0 ||
         object.is_true_at({"status", "owned"});
}

std::int64_t revision_of(const Value& object) {
  return object.at_path({"status", "revision"}) == nullptr ? -1 : object.int_at({"status", "revision"});
}

std::int64_t generation_of(const Value& object) { return object.int_at({"metadata", "generation"}); }

bool is_ready(const Value& object) {
  const Value* const ready = condition_of(object, "Ready");
  return ready != nullptr && ready->string_at("status") == "True" &&
         ready->int_at("observedGeneration") == generation_of(object) &&
         !apimachinery::is_terminating(object);
}

std::string ready_words(const Value& object) {
  if (apimachinery::is_terminating(object)) return "it is being deleted";
  const Value* const ready = condition_of(object, "Ready");
  if (ready == nullptr) return "nobody has looked at it yet";
  if (ready->string_at("status") == "True" && !is_ready(object)) return "its spec has changed since";
  return std::string(ready->string_at(ready->string_at("status") == "True" ? "reason" : "message"));
}

Value status_of(const Value& object, const Report& report, const std::string& now) {
  Value status = Value::object();
  status.set("observedGeneration", generation_of(object));
  status.set("release", display(release_of(object)));
  if (report.deployed) {
    status.set("package", report.deployed->package);
    status.set("digest", report.deployed->digest);
    status.set("revision", report.deployed->revision);
    if (report.deployed->generation != 0) status.set("appliedGeneration", report.deployed->generation);
    set_exports(status, object, report.deployed->exports);
  } else if (!report.absent) {
    for (const std::string_view key :
         {"package", "digest", "revision", "appliedGeneration", "exports", "hiddenExports"})
      keep(status, object, key);
  }
  // A status that says that somebody's wish was heard must not say any more that it is given up.
  const Attempt before = is_asked_again(object) ? Attempt() : attempt_of(object);
  const Attempt attempt = report.absent ? Attempt() : report.attempt.value_or(before);
  if (attempt.failures > 0) status.set("attempt", attempt_value(attempt));
  // Only where nothing else says it: the CRD may be of an older operator.
  const bool owned = is_owned(object) && !report.absent;
  if (owned && status.find("appliedGeneration") == nullptr && status.find("attempt") == nullptr)
    status.set("owned", true);
  if (const std::string_view asked = asked_at(object); !asked.empty())
    status.set("handledReconcileAt", asked);
  Value::Array conditions;
  if (!report.ready.empty()) {
    conditions.push_back(
        condition("Ready", report.ready, report.reason, shortened(report.message), object, now));
  } else if (const Value* const ready = condition_of(object, "Ready")) {
    conditions.push_back(*ready);
  }
  if (!report.stalled.empty())
    conditions.push_back(condition("Stalled", "True", report.reason, shortened(report.stalled), object, now));
  if (const Drift drift = report.drifted.value_or(drift_of(object)); !drift.words.empty()) {
    conditions.push_back(condition("Drifted", "True", "FieldsChanged", shortened(drift.words), object, now));
    if (!drift.digest.empty()) status.set(kDriftDigest, drift.digest);
  }
  if (report.suspended)
    conditions.push_back(condition("Suspended", "True", "Suspended", "spec.suspend says so", object, now));
  status.set("conditions", Value(std::move(conditions)));
  return status;
}

std::vector<Value> statuses_of_older_crds(const Value& status) {
  std::vector<Value> older;
  const auto add = [&](Value without) {
    if (without != (older.empty() ? status : older.back())) older.push_back(std::move(without));
  };
  Value without = status;
  without.erase(kDriftDigest);
  add(without);
  without.erase("owned");
  if (Value* const attempt = without.find("attempt"))
    for (const std::string_view added : {"reason", "message"}) attempt->erase(added);
  add(std::move(without));
  return older;
}

}  // namespace mist::releases
