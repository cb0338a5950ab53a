#pragma once
// How a plan is shown: as a unified diff, or as a document. One thread.

#include "action/diff.h"
#include "action/look.h"
#include "cli/output.h"

namespace mist::cli {

inline constexpr Flag kDiffFlagList[] = {
    {.name = "show-secrets", .help = "Show what Secrets hold instead of ***"},
    {.name = "lines",
     .letter = 'U',
     .type = FlagType::Number,
     .value = "COUNT",
     .help = "Unchanged lines around each change",
     .fallback = "3"},
    {.name = "exit-code", .help = "End with exit code 3 if anything would change"},
};
inline constexpr FlagGroup kDiffFlags{"Diff flags", kDiffFlagList};

action::DiffOptions diff_options(const Invocation& invocation);

/// Unified, an object after another, and one line that counts.
void print_diff(World& world, const action::Look& look, const action::DiffOptions& options);

/// schemas/cli/diff.schema.json.
encoding::Value diff_value(const action::Look& look, const action::DiffOptions& options);

/// Whether carrying out the plan would write any object, or record other tests.
bool changes_something(const action::Look& look);

/// "1 to create, 2 unchanged", "no objects change, 1 test differs", "no differences".
std::string look_counts(const action::Look& look);

/// A row for each test that differs, to a table of action, object and reason.
void add_tests(Table& table, const action::Look& look);

}  // namespace mist::cli
