#pragma once
// Printing results to stdout: Values as JSON or YAML; how they look is of view/. One thread.

#include <cstdint>
#include <string>

#include "base/fs.h"
#include "base/result.h"
#include "cli/machine.h"
#include "cli/output/style.h"
#include "cli/parse/invocation.h"
#include "view/table.h"
#include "view/values.h"

namespace mist::cli {

using view::identity_value;
using view::number_or_null;
using view::Table;
using view::text_or_null;

enum class OutputFormat : std::uint8_t { Table, Json, Yaml };

/// The format that kOutputFlags chose (flags.h).
OutputFormat output_format(const Invocation& invocation);

/// The number that kLinesFlag gave (flags.h).
std::size_t context_lines(const Invocation& invocation);

/// JSON (pretty, a newline at the end) or YAML. A terminal gets escapes for what it would obey. Table is a
/// defect: the command draws that itself.
void print_value(Machine& machine, OutputFormat format, const encoding::Value& value);
void print_value(Output& output, OutputFormat format, const encoding::Value& value);

/// JSON on one line, with its newline, for `output`: a terminal gets the same escapes.
std::string json_line(const Output& output, const encoding::Value& value);

/// Whether a result that goes into `file`, which the user named, takes standard output: nothing else may be
/// printed there. Text printed before is flushed then.
Result<bool> takes_stdout(Machine& machine, const Path& file);

}  // namespace mist::cli
