#include "kube/cluster_ca.h"

#include <chrono>
#include <utility>

namespace mist::kube {
namespace {

constexpr auto kMaxCaAge = std::chrono::minutes(1);

}  // namespace

ClusterCa::ClusterCa(std::string pem) : current_(std::move(pem)) {}

ClusterCa::ClusterCa(Read read, std::string first, const Clock& clock)
    : read_(std::move(read)), clock_(&clock), current_(std::move(first)), read_at_(clock.steady_now()) {}

// Twice: half of a file that is being written may be a good PEM text, too.
void ClusterCa::look() {
  if (!read_) return;
  read_at_ = clock_->steady_now();
  auto once = read_();
  if (!once.ok()) return;
  const auto again = read_();
  if (again.ok() && *once == *again) current_ = *std::move(once);
}

std::string ClusterCa::pem() {
  const std::lock_guard lock(mutex_);
  if (read_ && clock_->steady_now() - read_at_ >= kMaxCaAge) look();
  return current_;
}

bool ClusterCa::refresh(const std::string& distrusted) {
  const std::lock_guard lock(mutex_);
  if (distrusted == current_) look();
  return distrusted != current_;
}

}  // namespace mist::kube
