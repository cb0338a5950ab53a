#pragma once
// Changes that a look found: as a unified diff, a table or a document. Pure; any thread.

#include "action/authoring/publish.h"
#include "action/deploy/prepare.h"
#include "action/query/diff.h"
#include "action/query/revision_diff.h"

namespace mist::view {

/// Unified, an object after another, and one line that counts.
std::string diff_text(const action::PreparedDeploy& prepared, const action::DiffOptions& options, bool color);
/// A row for each action and each test that differs, and the same line.
std::string plan_text(const action::PreparedDeploy& prepared, bool color);

/// schemas/cli/diff.schema.json.
encoding::Value diff_value(const action::PreparedDeploy& prepared, const action::DiffOptions& options);

/// The same of two revisions, as they are recorded.
std::string diff_text(const action::RevisionDiff& diff, bool color);
/// schemas/cli/diff-revisions.schema.json.
encoding::Value diff_value(const action::RevisionDiff& diff);

/// The same of a render and what was published.
std::string diff_text(const action::PublishedDiff& diff, bool color);
/// schemas/cli/diff-published.schema.json.
encoding::Value diff_value(const action::PublishedDiff& diff);

/// Whether carrying out the plan would write any object, or record other tests.
bool changes_something(const action::PreparedDeploy& prepared);

/// "1 to create, 2 unchanged", "no objects change, 1 test differs", "no differences".
std::string change_counts(const action::PreparedDeploy& prepared);

}  // namespace mist::view
