#include "apply/finished_job.h"

#include <algorithm>
#include <array>

namespace mist::apply {
namespace {

using encoding::Value;

constexpr auto kEventLimit = std::chrono::seconds(3);
// An Event of a Job's end is here before a Job is removed that stays for so long.
constexpr auto kSurelyTold = std::chrono::seconds(15);
// What Kubernetes has for it are 32 bits.
constexpr std::chrono::seconds kMostDelay{INT32_MAX};

// Reasons of the condition Failed, which is told as an Event of the same reason (k8s.io/api/batch/v1).
constexpr std::array<std::string_view, 5> kFailures{"BackoffLimitExceeded", "DeadlineExceeded",
                                                    "PodFailurePolicy", "FailedIndexes",
                                                    "MaxFailedIndexesExceeded"};
constexpr std::string_view kCompleted = "Completed";

const Value* true_condition(const Value& job, std::string_view type) {
  const Value* const conditions = job.at_path({"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return nullptr;
  const auto found = std::ranges::find_if(conditions->as_array(), [&](const Value& condition) {
    return condition.string_at("type") == type && condition.string_at("status") == "True";
  });
  return found == conditions->as_array().end() ? nullptr : &*found;
}

std::string words_of(const Value& told) {
  return fmt::format("{}: {}", told.string_at("reason"), told.string_at("message"));
}

}  // namespace

std::optional<Duration> removal_delay(const Value& object) {
  if (object.string_at("kind") != "Job" || !object.string_at("apiVersion").starts_with("batch/"))
    return std::nullopt;
  const Value* const ttl = object.at_path({"spec", "ttlSecondsAfterFinished"});
  if (ttl == nullptr || !ttl->is_int()) return std::nullopt;
  return std::chrono::seconds(std::clamp<std::int64_t>(ttl->as_int(), 0, kMostDelay.count()));
}

std::optional<Readiness> ended_job(const Value& last) {
  if (!removes_itself(last)) return std::nullopt;
  if (const Value* const failed = true_condition(last, "Failed"))
    return Readiness{Health::Failed, words_of(*failed)};
  if (true_condition(last, "Complete") != nullptr) return Readiness{Health::Ready, {}};
  return std::nullopt;
}

JobEnd job_end(kube::Client& client, const std::string& ns, const std::string& uid, const Context& context) {
  JobEnd end = JobEnd::Unknown;
  if (uid.empty()) return end;
  kube::ListOptions options;
  options.ns = ns;
  options.field_selector = "involvedObject.uid=" + uid;
  const kube::ResourceInfo events{{"", "v1", "Event"}, "events", true, {}};
  (void)client.watch(
      events, options,
      [&](const kube::WatchEvent& seen) {
        if (seen.type == kube::WatchEventType::Bookmark) return end == JobEnd::None;
        const std::string_view reason = seen.object.string_at("reason");
        end = reason == kCompleted                                      ? JobEnd::Completed
              : std::ranges::find(kFailures, reason) != kFailures.end() ? JobEnd::Failed
                                                                        : JobEnd::None;
        return end == JobEnd::None;
      },
      context.with_timeout(kEventLimit));
  return end;
}

std::optional<Readiness> gone_job(kube::Client& client, const std::string& ns, const std::string& uid,
                                  Duration delay, const Context& context) {
  Readiness result{Health::Ready, std::string(kRemovedByItsTtl)};
  if (uid.empty()) return result;
  bool told = false, ended = false;
  kube::ListOptions options;
  options.ns = ns;
  options.field_selector = "involvedObject.uid=" + uid;
  const kube::ResourceInfo events{{"", "v1", "Event"}, "events", true, {}};
  // Without the right to read Events nothing is known, as without Events.
  (void)client.watch(
      events, options,
      [&](const kube::WatchEvent& seen) {
        const std::string_view reason = seen.object.string_at("reason");
        if (std::ranges::find(kFailures, reason) != kFailures.end())
          result = {Health::Failed, words_of(seen.object)};
        told = told || !reason.empty();
        ended = result.health == Health::Failed || reason == kCompleted;
        return !ended;
      },
      context.with_timeout(kEventLimit));
  if (told && !ended && delay > kSurelyTold) return std::nullopt;
  return result;
}

}  // namespace mist::apply
