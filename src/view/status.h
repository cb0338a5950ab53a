#pragma once
// How a release is doing. Pure; any thread.

#include "action/query/status.h"

namespace mist::view {

/// schemas/cli/status.schema.json.
encoding::Value status_value(const action::ReleaseStatus& status, WallTime now);

struct StatusOptions {
  bool all_objects = false;  ///< of large releases, too
  bool color = false;
};
/// Without the diagnosis.
std::string status_text(const action::ReleaseStatus& status, WallTime now, const StatusOptions& options);

/// The package's message to its user; may hold anything.
std::string_view notes_of(const action::ReleaseStatus& status);

}  // namespace mist::view
