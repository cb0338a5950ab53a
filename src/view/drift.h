#pragma once
// How releases differ from what they recorded, and what fixing it did. Pure; any thread.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "action/query/drift.h"

namespace mist::view {

/// One release: what was found, or why it could not be looked at; and what fixing it did.
struct DriftOutcome {
  release::ReleaseId id;
  std::optional<action::DriftReport> report = {};
  std::optional<Error> failure = {};
  bool fixing = false;                                       ///< it was to be fixed
  std::optional<int> fixed_by = {};                          ///< revision; nullopt: nothing was written
  std::map<apimachinery::ObjectKey, std::string> left = {};  ///< what could not be fixed, and why
};

struct DriftOptions {
  bool show_secrets = false;
  bool strict = false;  ///< DriftReport::drifted
  bool color = false;
  bool with_namespace = false;  ///< of releases of several namespaces: "shop/web"
};

/// schemas/cli/drift.schema.json.
encoding::Value drift_value(const std::vector<DriftOutcome>& outcomes, const DriftOptions& options);
/// Empty for a release that could not be looked at.
std::string drift_text(const DriftOutcome& outcome, WallTime now, const DriftOptions& options);

}  // namespace mist::view
