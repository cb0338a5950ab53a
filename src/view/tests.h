#pragma once
// Results of the tests of a release. Pure; any thread.

#include "action/run_tests.h"

namespace mist::view {

/// Of one test: its logs, its outcome and why.
std::string test_text(const action::TestResult& result, bool color);
/// How many passed, and what they left.
std::string tests_summary(const action::TestReport& report);
/// schemas/cli/test.schema.json.
encoding::Value tests_value(const action::TestReport& report);

}  // namespace mist::view
