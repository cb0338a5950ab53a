#include "releases/reported_drift.h"

#include "apimachinery/conditions.h"
#include "releases/status.h"

namespace mist::releases {
namespace {

std::string_view uid_of(const Value& release) { return release.string_at({"metadata", "uid"}); }

}  // namespace

bool ReportedDrift::is_news(const Value& release, std::string_view digest) const {
  if (const std::string_view told = drift_digest_of(release); !told.empty()) return told != digest;
  if (apimachinery::condition_of(release, "Drifted") == nullptr) return true;
  const std::lock_guard lock(mutex_);
  const auto known = digests_.find(uid_of(release));
  return known != digests_.end() && known->second != digest;
}

void ReportedDrift::note(const Value& release, std::string_view digest) {
  const std::lock_guard lock(mutex_);
  if (digest.empty()) {
    digests_.erase(std::string(uid_of(release)));
  } else {
    digests_.insert_or_assign(std::string(uid_of(release)), std::string(digest));
  }
}

}  // namespace mist::releases
