#pragma once
// Reports of a deployment or an uninstall, done or planned. Pure; any thread.

#include <string>
#include <string_view>

#include "action/recover/recover.h"
#include "view/table.h"

namespace mist::view {

/// "2 created, 1 unchanged", or what is planned.
std::string plan_counts(const apply::Plan& plan, bool planned);
/// A row for each action: which, on what, why.
Table plan_table(const apply::Plan& plan);

/// schemas/cli/deploy.schema.json.
encoding::Value deploy_value(const action::DeployReport& report, Duration elapsed);
/// One line; `did`: "is installed".
/// A line for each; empty: none.
std::string packages_text(const std::vector<action::PackageChange>& changes);
/// The same as in schemas/cli/deploy.schema.json and diff.schema.json.
encoding::Value packages_value(const std::vector<action::PackageChange>& changes);
std::string deploy_text(const action::DeployReport& report, std::string_view did, Duration elapsed);

/// schemas/cli/uninstall.schema.json.
encoding::Value uninstall_value(const action::UninstallPlan& plan, bool dry);
/// The same of a release that isn't there, which was no error.
encoding::Value absent_value(const release::ReleaseId& id, bool dry);
/// Of several, one that could not be uninstalled.
encoding::Value failed_value(const release::ReleaseId& id, const Error& failure);
/// The objects that went, or would go, and those that stay and why.
std::string uninstall_text(const action::UninstallReport& report, bool dry, std::string_view did, bool color);

/// schemas/cli/recover.schema.json.
encoding::Value recover_value(const action::RecoverReport& report, Duration elapsed, bool dry);

}  // namespace mist::view
