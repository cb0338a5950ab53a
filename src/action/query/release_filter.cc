#include "action/query/release_filter.h"

#include <algorithm>

namespace mist::action {

using release::Anchor;
using release::RevisionStatus;

namespace {

// Releases that somebody has to look after come first.
int urgency(RevisionStatus status) {
  switch (status) {
    case RevisionStatus::Failed:
      return 0;
    case RevisionStatus::Pending:
      return 1;
    case RevisionStatus::Uninstalling:
      return 2;
    case RevisionStatus::Superseded:
      return 3;
    case RevisionStatus::Deployed:
      return 4;
  }
  return 4;
}

bool comes_before(const Anchor& a, const Anchor& b, ReleaseOrder order) {
  switch (order) {
    case ReleaseOrder::Name:
      return a.id < b.id;
    case ReleaseOrder::Updated:
      return a.head.updated > b.head.updated;
    case ReleaseOrder::Status:
      return urgency(a.head.status) < urgency(b.head.status);
    case ReleaseOrder::Package:
      return a.head.package < b.head.package;
  }
  return false;
}

}  // namespace

std::vector<Anchor> filtered(std::vector<Anchor> anchors, const ReleaseFilter& filter) {
  std::erase_if(anchors, [&](const Anchor& anchor) {
    return (filter.name && !filter.name->found_in(anchor.id.name)) ||
           (!filter.status.empty() && !filter.status.contains(anchor.head.status));
  });
  std::ranges::stable_sort(
      anchors, [&](const Anchor& a, const Anchor& b) { return comes_before(a, b, filter.order); });
  if (filter.reverse) std::ranges::reverse(anchors);
  if (filter.most > 0 && anchors.size() > filter.most)
    anchors.erase(anchors.begin() + static_cast<std::ptrdiff_t>(filter.most), anchors.end());
  return anchors;
}

}  // namespace mist::action
