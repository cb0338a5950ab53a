#pragma once
// The charts that a chart depends on: what it asks for (`dependencies` in Chart.yaml; requirements.yaml of
// charts with apiVersion v1), and the versions that its lock says (Chart.lock, requirements.lock). Fields,
// digest and text are Helm's (helm.sh/helm/v4: pkg/chart/v2/dependency.go, internal/resolver), so that Helm
// accepts our locks and we accept Helm's. Pure; any thread.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "encoding/value.h"

namespace mist::registry {

inline constexpr std::string_view kChartFile = "Chart.yaml";
inline constexpr std::string_view kRequirementsFile = "requirements.yaml";

struct ChartDependency {
  std::string name;
  std::string version;     ///< a range; in a lock the version
  std::string repository;  ///< empty: the chart is in charts/ already
  std::string condition = {};
  std::vector<std::string> tags = {};
  bool enabled = false;
  encoding::Value import_values = {};  ///< an array; null: there is none
  std::string alias = {};
};

/// The parts of Chart.yaml that its dependencies need.
struct ChartManifest {
  std::string name;
  std::string version;
  bool original = false;  ///< apiVersion v1: dependencies and lock have files of their own
  std::vector<ChartDependency> dependencies = {};

  std::string_view lock_file() const { return original ? "requirements.lock" : "Chart.lock"; }
};

/// `requirements` is the text of requirements.yaml, if there is one; `place` is what the chart is called in
/// messages. Errors: Invalid (a name or version that is missing, a field of another type, a name that is no
/// single part of a path, two dependencies under one name or alias).
Result<ChartManifest> read_chart_manifest(std::string_view chart,
                                          const std::optional<std::string>& requirements,
                                          std::string_view place);

struct ChartLock {
  std::vector<ChartDependency> dependencies;
  std::string digest;     ///< "sha256:…"
  std::string generated;  ///< when it was written, RFC 3339

  /// Errors: Invalid.
  static Result<ChartLock> parse(std::string_view text, std::string_view place);
  /// As Helm writes it.
  std::string to_text() const;
};

/// Of the versions that `locked` chose for `wanted`, in the same order. The repositories of `wanted` are
/// URLs: the names that a machine has for them (`@stable`) are resolved before.
ChartLock lock_of(const std::vector<ChartDependency>& wanted, std::vector<ChartDependency> locked,
                  WallTime now);

/// True if `lock` was made for what `chart` asks for, by any version of Helm. `resolved` are its dependencies
/// with URLs as repositories.
bool is_in_step(const ChartLock& lock, const ChartManifest& chart,
                const std::vector<ChartDependency>& resolved);

}  // namespace mist::registry
