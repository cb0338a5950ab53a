#pragma once
// The package that its author's commands are about: a directory or module on disk, with its test cases. One
// thread.

#include "action/authoring/package_cases.h"
#include "cli/machine.h"
#include "cli/package_flags.h"
#include "cli/parse/invocation.h"

namespace mist::cli {

inline constexpr Argument kAuthorsSource{
    .name = "SOURCE", .help = "The package's directory, or its module", .completion = Completion::Package};
inline constexpr Flag kCasesFlag{
    .name = "cases",
    .type = FlagType::Text,
    .value = "DIR",
    .help = "Where the test cases are; without it tests/ in the directory, or beside the module",
    .completion = Completion::Directory};

/// The package of SOURCE, --engine, --cases and --skip-schema-validation. Errors: as fetch_package.
Result<action::PackageCases> package_source(const Invocation& invocation, Machine& machine);

}  // namespace mist::cli
