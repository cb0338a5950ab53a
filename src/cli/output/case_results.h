#pragma once
// Results of test cases with golden files, as `package test` and `blueprint test` print them. One thread.

#include <vector>

#include "action/authoring/package_cases.h"
#include "cli/output/output.h"
#include "cli/parse/command.h"

namespace mist::cli {

/// A line for each, below it what failed, and a summary.
void print_cases(Machine& machine, const std::vector<action::CaseResult>& results);
/// `cases`, `ok`, `accepted` and `failed` behind `subject`: schemas/cli/package-test.schema.json.
encoding::Value cases_value(std::string_view subject, const std::string& name,
                            const std::vector<action::CaseResult>& results);
ExitCode exit_code_of(const std::vector<action::CaseResult>& results);

}  // namespace mist::cli
