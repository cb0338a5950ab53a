#include "apply/plan/finished_job.h"

#include <algorithm>
#include <array>

#include "apimachinery/conditions.h"

namespace mist::apply {
namespace {

using apimachinery::true_condition;
using encoding::Value;

constexpr auto kEventLimit = std::chrono::seconds(3);
// An Event of a Job's end is here before a Job is removed that stays for so long.
constexpr auto kSurelyTold = std::chrono::seconds(15);
// Kubernetes stores it in 32 bits.
constexpr std::chrono::seconds kMostDelay{INT32_MAX};

// Reasons of the condition Failed, which is told as an Event of the same reason (k8s.io/api/batch/v1).
constexpr std::array<std::string_view, 5> kFailures{"BackoffLimitExceeded", "DeadlineExceeded",
                                                    "PodFailurePolicy", "FailedIndexes",
                                                    "MaxFailedIndexesExceeded"};
constexpr std::string_view kCompleted = "Completed";

std::string words_of(const Value& told) {
  return fmt::format("{}: {}", told.string_at("reason"), told.string_at("message"));
}

JobEnd end_told_by(std::string_view reason) {
  return reason == kCompleted                                      ? JobEnd::Completed
         : std::ranges::find(kFailures, reason) != kFailures.end() ? JobEnd::Failed
                                                                   : JobEnd::None;
}

struct ToldEnd {
  JobEnd end = JobEnd::Unknown;
  std::string words = {};  // of a failure
};
// Where a Job has no Events yet.
enum class WhereNone : std::uint8_t { Ends, Waits };

// Without the right to read Events nothing is known, as without Events.
ToldEnd read_end(kube::Client& client, const std::string& ns, const std::string& uid, WhereNone where_none,
                 const Context& context) {
  ToldEnd told;
  if (uid.empty()) return told;
  kube::ListOptions options;
  options.ns = ns;
  options.field_selector = "involvedObject.uid=" + uid;
  const kube::ResourceInfo events{{"", "v1", "Event"}, "events", true, {}};
  (void)client.watch(
      events, options,
      [&](const kube::WatchEvent& seen) {
        if (seen.type == kube::WatchEventType::Bookmark)
          return told.end == JobEnd::None || where_none == WhereNone::Waits;
        told.end = end_told_by(seen.object.string_at("reason"));
        if (told.end == JobEnd::Failed) told.words = words_of(seen.object);
        return told.end == JobEnd::None;
      },
      context.with_timeout(kEventLimit));
  return told;
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
  return read_end(client, ns, uid, WhereNone::Ends, context).end;
}

std::optional<Readiness> gone_job(kube::Client& client, const GoneJob& job, const Context& context) {
  const ToldEnd told = read_end(client, job.key.ns, job.uid, WhereNone::Waits, context);
  if (told.end == JobEnd::Failed) return Readiness{Health::Failed, told.words};
  if (told.end == JobEnd::None && job.removal_delay > kSurelyTold) return std::nullopt;
  return Readiness{Health::Ready, std::string(kRemovedByItsTtl)};
}

}  // namespace mist::apply
