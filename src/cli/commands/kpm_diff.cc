// kpm diff: what somebody changed in a working copy. Its text can be given to `patch` and `git apply`.

#include <algorithm>

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

std::string change_text(const kpm::FileChange& change, std::string_view before, std::string_view after,
                        bool color) {
  const auto line = [&](view::Tone tone, std::string_view text) {
    return view::paint(color, tone, escape_controls(text)) + "\n";
  };
  const std::string from =
      change.kind == kpm::ChangeKind::Added ? "/dev/null" : fmt::format("{}/{}", before, change.path);
  const std::string to =
      change.kind == kpm::ChangeKind::Removed ? "/dev/null" : fmt::format("{}/{}", after, change.path);
  if (change.is_binary)
    return line(view::Tone::Strong, fmt::format("Binary files {} and {} differ", from, to));
  std::string text = line(view::Tone::Strong, "--- " + from) + line(view::Tone::Strong, "+++ " + to);
  for (const std::string& each : change.lines) text += line(view::diff_tone(each), each);
  return text;
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

Result<ExitCode> run_kpm_diff(const Invocation& invocation, World& world) {
  MIST_TRY(kpm::Home home, open_kpm_home(world));
  MIST_TRY(const kpm::Comparison comparison,
           home.compare(invocation.argument("NAME"), context_lines(invocation), world.context));
  const std::string before = comparison.original.filename().string();
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    print_value(world, format, comparison_value(comparison));
  } else {
    const std::string after = comparison.copy.filename().string();
    for (const kpm::FileChange& each : comparison.changes)
      world.out.write(change_text(each, before, after, world.color_out));
    MIST_TRY_VOID(world.out.flush());
    world.events->info(comparison.changes.empty()
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
