#pragma once
// Which releases of a list are shown, and in which order. Pure; any thread.

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/pattern.h"
#include "release/record.h"

namespace mist::action {

enum class ReleaseOrder : std::uint8_t {
  Name,     ///< by namespace and name
  Updated,  ///< what changed last comes first
  Status,   ///< what failed or is under way comes first
  Package,
};

struct ReleaseFilter {
  std::optional<Pattern> name = {};               ///< found anywhere in it; nullopt: all
  std::set<release::RevisionStatus> status = {};  ///< of the newest revision; empty: all
  ReleaseOrder order = ReleaseOrder::Name;
  bool reverse = false;
  std::size_t most = 0;  ///< the first so many; 0: all
};

/// Equals stay in the order of `anchors`.
std::vector<release::Anchor> filtered(std::vector<release::Anchor> anchors, const ReleaseFilter& filter);

}  // namespace mist::action
