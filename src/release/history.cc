#include "release/history.h"

#include <algorithm>

namespace mist::release {

std::vector<int> surplus_revisions(const std::vector<RevisionSummary>& revisions,
                                   const std::vector<int>& needed, int max) {
  if (max <= 0) return {};
  std::vector<int> numbers;
  for (const RevisionSummary& revision : revisions) numbers.push_back(revision.number);
  std::ranges::sort(numbers);
  std::vector<int> surplus;
  std::size_t left = numbers.size();
  for (std::size_t i = 0; i + 2 < numbers.size() && left > static_cast<std::size_t>(max); ++i) {
    if (std::ranges::find(needed, numbers[i]) != needed.end()) continue;
    surplus.push_back(numbers[i]);
    --left;
  }
  return surplus;
}

RevisionStatus status_in(const Head& head, const RevisionSummary& revision) {
  if (revision.number == head.deployed) return RevisionStatus::Deployed;
  // One run writes at a time: whoever wrote a later revision took over from a run that died.
  if (revision.status == RevisionStatus::Pending && revision.number < head.latest)
    return RevisionStatus::Failed;
  if (revision.status != RevisionStatus::Deployed) return revision.status;
  return revision.number < head.deployed ? RevisionStatus::Superseded : RevisionStatus::Pending;
}

}  // namespace mist::release
