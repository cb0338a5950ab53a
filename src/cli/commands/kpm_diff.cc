// kpm diff: what somebody changed in a working copy. Its text can be given to `patch` and `git apply`.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/kpm_home.h"
#include "cli/output/output.h"
#include "cli/parse/flags.h"

namespace mist::cli {
namespace {

constexpr Flag kFlags[] = {
    kLinesFlag,
    {.name = "exit-code", .help = "End with exit code 3 if anything was changed"},
};
constexpr FlagGroup kKpmDiffGroups[] = {{"Flags", kFlags}, kOutputFlags};
constexpr Argument kWorkingCopy[] = {
    {.name = "NAME",
     .help = "A working copy; NAME:VERSION compares it with another version than it was made from",
     .completion = Completion::WorkingCopy}};
constexpr Example kKpmDiffExamples[] = {
    {"kpm diff nginx", "Your changes since kpm get nginx"},
    {"kpm diff nginx:1.11.0", "How your copy differs from a newer version"},
    {"kpm diff nginx > nginx.patch", "For another machine: patch -p1 < nginx.patch, in the working copy"},
};

// As git writes a name that needs quotes, for itself and for GNU patch. No path of a package has a control
// character or a backslash (registry::path_objection).
std::string git_quoted(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"') text += '\\';
    text += c;
  }
  return text + '"';
}

// In the line that names both files nothing else shows where a name with a space ends.
std::string name_of_two(const std::string& name) {
  return name.find_first_of("\" ") == std::string::npos ? name : git_quoted(name);
}

std::string name_alone(const std::string& name) {
  const std::string_view end = name.find(' ') == std::string::npos ? "" : "\t";
  return fmt::format("{}{}", name.find('"') == std::string::npos ? name : git_quoted(name), end);
}

struct Names {
  std::string_view before, after;  // of the directories
};

std::string binary_line(const kpm::FileChange& change, const Names& names) {
  const std::string before = fmt::format("{}/{}", names.before, change.path);
  const std::string after = fmt::format("{}/{}", names.after, change.path);
  return fmt::format("Binary files {} and {} differ",
                     change.kind == kpm::ChangeKind::Added ? "/dev/null" : before,
                     change.kind == kpm::ChangeKind::Removed ? "/dev/null" : after);
}

// An empty file that was added or removed: no lines differ, so git's own header has to say it. GNU patch
// removes one only if its content is named.
std::vector<std::string> empty_file_lines(const kpm::FileChange& change, const Names& names) {
  const std::string before = fmt::format("{}/{}", names.before, change.path);
  const std::string after = fmt::format("{}/{}", names.after, change.path);
  const bool is_added = change.kind == kpm::ChangeKind::Added;
  return {fmt::format("diff --git {} {}", name_of_two(before), name_of_two(after)),
          is_added ? "new file mode 100644" : "deleted file mode 100644",
          is_added ? "index 0000000..e69de29" : "index e69de29..0000000"};
}

// Without git's own header: with one, names count from the top of the repository, and `git apply` in a
// working copy below it would pass over the file without a word.
std::vector<std::string> header_lines(const kpm::FileChange& change, const Names& names) {
  if (change.lines.empty()) return empty_file_lines(change, names);
  const std::string before = name_alone(fmt::format("{}/{}", names.before, change.path));
  const std::string after = name_alone(fmt::format("{}/{}", names.after, change.path));
  return {"--- " + (change.kind == kpm::ChangeKind::Added ? "/dev/null" : before),
          "+++ " + (change.kind == kpm::ChangeKind::Removed ? "/dev/null" : after)};
}

void print_changes(Machine& machine, const kpm::Comparison& comparison) {
  // A patch has every byte of a line; a terminal would obey some.
  const auto print = [&](view::Tone tone, const std::string& line) {
    const std::string shown = machine.out.is_terminal() ? escape_controls(line) : line;
    machine.out.write(view::paint(machine.color_out, tone, shown) + "\n");
  };
  const std::string before = comparison.original.filename().string();
  const std::string after = comparison.copy.filename().string();
  const Names names{before, after};
  const auto print_text = [&](const kpm::FileChange& change) {
    for (const std::string& line : header_lines(change, names)) print(view::Tone::Strong, line);
    for (const std::string& line : change.lines) print(view::diff_tone(line), line);
  };
  for (const kpm::FileChange& each : comparison.changes)
    if (each.is_binary) print(view::Tone::Strong, binary_line(each, names));
  for (const kpm::FileChange& each : comparison.changes)
    if (!each.lines.empty()) print_text(each);
  // Last: git would take the other lines that follow one for a part of its patch.
  for (const kpm::FileChange& each : comparison.changes)
    if (!each.is_binary && each.lines.empty()) print_text(each);
}

encoding::Value comparison_value(const kpm::Comparison& comparison) {
  using encoding::Value;
  Value files{Value::Array{}};
  for (const kpm::FileChange& each : comparison.changes) {
    Value lines{Value::Array{}};
    for (const std::string& line : each.lines) lines.push_back(Value(line));
    files.push_back(Value::object({{"path", Value(each.path)},
                                   {"change", Value(kpm::to_string(each.kind))},
                                   {"binary", Value(each.is_binary)},
                                   {"diff", std::move(lines)}}));
  }
  return Value::object({{"workingCopy", Value(comparison.copy.string())},
                        {"original", Value(comparison.original.string())},
                        {"files", std::move(files)}});
}

// "1 file changed, 2 added".
std::string count_changes(const kpm::Comparison& comparison) {
  std::string text;
  for (const kpm::ChangeKind kind :
       {kpm::ChangeKind::Changed, kpm::ChangeKind::Added, kpm::ChangeKind::Removed}) {
    const auto count =
        static_cast<std::size_t>(std::ranges::count(comparison.changes, kind, &kpm::FileChange::kind));
    if (count == 0) continue;
    text += text.empty() ? fmt::format("{} {}", plural(count, "file"), kpm::to_string(kind))
                         : fmt::format(", {} {}", count, kpm::to_string(kind));
  }
  return text;
}

Result<ExitCode> run_kpm_diff(const Invocation& invocation, Machine& machine) {
  MIST_TRY(kpm::Home home, open_kpm_home(machine));
  MIST_TRY(const kpm::Comparison comparison,
           home.compare(invocation.argument("NAME"), context_lines(invocation), machine.context));
  const std::string before = comparison.original.filename().string();
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    print_value(machine, format, comparison_value(comparison));
  } else {
    print_changes(machine, comparison);
    MIST_TRY_VOID(machine.out.flush());
    machine.events->info(comparison.changes.empty()
                             ? fmt::format("your working copy is {}, unchanged", before)
                             : fmt::format("{} since {}", count_changes(comparison), before));
  }
  return invocation.enabled("exit-code") && !comparison.changes.empty() ? ExitCode::Differences
                                                                        : ExitCode::Ok;
}

}  // namespace

constinit const Command kKpmDiffCommand{.path = "kpm diff",
                                        .summary = "Show what you changed in a working copy",
                                        .run = run_kpm_diff,
                                        .arguments = kWorkingCopy,
                                        .flags = kKpmDiffGroups,
                                        .examples = kKpmDiffExamples,
                                        .cluster = ClusterUse::None};

}  // namespace mist::cli
