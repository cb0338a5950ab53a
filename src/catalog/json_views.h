#pragma once
// The model as the REST API shows it (openapi.h has the schemas). Pure; any thread.

#include "base/error.h"
#include "catalog/account_store.h"
#include "catalog/feedback_store.h"
#include "catalog/model.h"
#include "catalog/previews.h"
#include "catalog/store.h"
#include "encoding/value.h"

namespace mist::catalog {

encoding::Value to_value(const Error& failure);
encoding::Value to_value(const Project& project);
encoding::Value to_value(const ReviewedVersion& reviewed);
/// Of a hidden one only that, and why.
encoding::Value to_value(const Version& version);
encoding::Value to_value(const VersionBrief& version);
/// How often the versions of a package were downloaded, `recent` in the last 30 days.
encoding::Value to_value(const std::vector<VersionBrief>& versions, const std::vector<DownloadsOfDay>& recent,
                         const Store::Installs& installs);
encoding::Value to_value(const Listed& listed);
encoding::Value to_value(const TokenFacts& token);
encoding::Value to_value(const AuditEntry& entry);
encoding::Value to_value(const Run& run);
encoding::Value to_value(const Ratings& ratings);
/// Without the text of a hidden one.
encoding::Value to_value(const Comment& comment);
encoding::Value to_value(const AbuseReport& report);
encoding::Value to_value(const DomainClaim& claim);
encoding::Value to_value(const OwnDomain& domain);
/// {"items": […], "next": "/api/v1/…?after=…" or null}
template <typename T>
encoding::Value to_value(const Slice<T>& slice, const std::string& next_path) {
  encoding::Value items{encoding::Value::Array{}};
  for (const T& each : slice.items) items.push_back(to_value(each));
  return encoding::Value::object(
      {{"items", std::move(items)},
       {"next", slice.next.empty() ? encoding::Value() : encoding::Value(next_path)}});
}

/// How a browser renders a version.
struct PreviewPlan {
  static constexpr int kSeconds = 20;  ///< for which it may run in a browser
  static constexpr std::int64_t kOutputBytes = std::int64_t{16} << 20;

  std::string name = {};  ///< of the package in messages
  ServedModule module = {};
  std::vector<PreviewRun> runs = {};  ///< of the module itself where they name no engine
  WallTime clock = {};
  std::string command = {};     ///< empty: no reference names the package
  std::string of_version = {};  ///< query that tells another instance of which version the modules are
};
encoding::Value to_value(const PreviewPlan& plan);

}  // namespace mist::catalog
