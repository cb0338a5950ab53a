#include "cli/output/help.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/text.h"
#include "cli/output/style.h"
#include "cli/parse/flags.h"
#include "view/display_width.h"

namespace mist::cli {
namespace {

struct Entry {
  std::string label, text;
};

class HelpWriter {
 public:
  HelpWriter(int columns, bool color) : columns_(std::clamp(columns, 60, 120)), color_(color) {}

  void paragraph(std::string_view text) { out_ += wrap(text, columns_, 0) + "\n"; }
  void heading(std::string_view title) { out_ += "\n" + paint(color_, Tone::Strong, title) + ":\n"; }
  void code(std::string_view line) { out_ += fmt::format("  {}\n", line); }

  // Two columns; a label too long for the first one has its text on the next line.
  void entries(const std::vector<Entry>& entries, int most = 30) {
    int width = 0;
    for (const Entry& entry : entries)
      if (const int w = view::display_width(entry.label); w <= most) width = std::max(width, w);
    const int start = width + 4;
    for (const Entry& entry : entries) {
      const bool fits = view::display_width(entry.label) <= width;
      out_ += "  " + paint(color_, Tone::Name, entry.label);
      out_ += fits ? std::string(static_cast<std::size_t>(start - 2 - view::display_width(entry.label)), ' ')
                   : "\n" + std::string(static_cast<std::size_t>(start), ' ');
      out_ += wrap(entry.text, columns_ - start, start) + "\n";
    }
  }

  std::string take() { return std::move(out_); }

 private:
  int columns_;
  bool color_;
  std::string out_;
};

enum class Flags : std::uint8_t { Usual, All };

void flag_group(HelpWriter& writer, const FlagGroup& group) {
  std::vector<Entry> entries;
  for (const Flag& flag : group.flags) entries.push_back({flag_label(flag), flag_sentence(flag)});
  writer.heading(group.title);
  writer.entries(entries);
}

// Both return how many flags are left out.
std::size_t all_flags(HelpWriter& writer, const Command& command) {
  for (const FlagGroup& group : command.flags) flag_group(writer, group);
  flag_group(writer, kGlobalFlags);
  return 0;
}

bool is_of_no_use(const Flag& flag, ClusterUse use) {
  return (flag.name == "context" && use != ClusterUse::Whole) ||
         (flag.name == "namespace" && use == ClusterUse::None);
}

// In one list: headings of two flags each would take half of the screen.
std::size_t usual_flags(HelpWriter& writer, const Command& command) {
  std::vector<Entry> entries;
  std::size_t left_out = 0;
  const auto add = [&](const FlagGroup& group) {
    for (const Flag& flag : group.flags) {
      if (flag.rare || is_of_no_use(flag, command.cluster))
        ++left_out;
      else
        entries.push_back({flag_label(flag), flag_sentence(flag)});
    }
  };
  for (const FlagGroup& group : command.flags) add(group);
  add(kGlobalFlags);
  writer.heading("Flags");
  writer.entries(entries, 24);
  return left_out;
}

void examples(HelpWriter& writer, const Command& command) {
  if (command.examples.empty()) return;
  writer.heading("Examples");
  for (const Example& example : command.examples) {
    writer.code(fmt::format("# {}", example.meaning));
    writer.code(example.line);
  }
}

void command_help(HelpWriter& writer, const CommandTable& table, const Command& command, Flags which) {
  writer.paragraph(fmt::format("{}.", command.summary));
  writer.heading("Usage");
  writer.code(usage_line(command, table.called_as));
  if (!command.alias.empty()) writer.code(fmt::format("mistctl {} …  means the same", command.alias));
  if (!command.arguments.empty()) {
    std::vector<Entry> entries;
    for (const Argument& argument : command.arguments)
      entries.push_back({std::string(argument.name), std::string(argument.help)});
    writer.heading("Arguments");
    writer.entries(entries);
  }
  const std::size_t left_out =
      which == Flags::All ? all_flags(writer, command) : usual_flags(writer, command);
  examples(writer, command);
  const std::string more = left_out == 0 ? ""
                                         : fmt::format("{}: {} --help-all. ", plural(left_out, "more flag"),
                                                       typed(table.called_as, command.path));
  const std::string page = typed(table.called_as, command.path).starts_with("mistctl")
                               ? fmt::format("mistctl help {}", command.path)
                               : fmt::format("{0} help {0}", table.called_as);
  writer.paragraph(fmt::format("\n{}The whole manual page: {}", more, page));
}

std::vector<Entry> commands_of(const CommandTable& table, std::string_view group) {
  std::vector<Entry> entries;
  for (const Command* command : table.commands)
    if (!command->hidden && command->path.starts_with(fmt::format("{} ", group)))
      entries.push_back({std::string(command->path), std::string(command->summary)});
  return entries;
}

void group_help(HelpWriter& writer, const CommandTable& table, const CommandGroup& group) {
  writer.paragraph(fmt::format("{}.", group.summary));
  writer.heading("Commands");
  writer.entries(commands_of(table, group.name));
  writer.paragraph(fmt::format("\nMore about one: {} COMMAND --help", typed(table.called_as, group.name)));
}

void overview(HelpWriter& writer, const CommandTable& table) {
  writer.paragraph(
      "mistctl installs packages into Kubernetes clusters: programs in a sandbox that turn a few inputs into "
      "objects, recorded as releases that can be upgraded, inspected and removed as one.");
  writer.heading("Usage");
  writer.code("mistctl COMMAND [arguments] [flags]");
  writer.code("mistctl --version");
  writer.heading("Commands");
  std::vector<Entry> entries;
  std::vector<std::string_view> seen;
  for (const Command* command : table.commands) {
    if (command->hidden) continue;
    const std::string_view first = command->path.substr(0, command->path.find(' '));
    if (std::ranges::find(seen, first) != seen.end()) continue;
    seen.push_back(first);
    const auto group = std::ranges::find(table.groups, first, &CommandGroup::name);
    entries.push_back(
        {std::string(first), std::string(group == table.groups.end() ? command->summary : group->summary)});
  }
  writer.entries(entries);
  flag_group(writer, kGlobalFlags);
  writer.paragraph("\nMore about one: mistctl COMMAND --help, or its manual page: mistctl help COMMAND");
}

}  // namespace

std::string flag_label(const Flag& flag) {
  std::string label = flag.letter == 0 ? "    " : fmt::format("-{}, ", flag.letter);
  label += fmt::format("--{}", flag.name);
  if (flag.value.empty()) return label;
  return label + (flag.implied.empty() ? fmt::format(" {}", flag.value) : fmt::format("[={}]", flag.value));
}

std::string flag_sentence(const Flag& flag) {
  std::string text(flag.help);
  std::vector<std::string> notes;
  if (!flag.choices.empty()) {
    // Many are words of a sentence, which can be wrapped.
    const std::string_view between = flag.choices.size() > 8 ? ", " : "|";
    std::string choices;
    for (const std::string_view choice : flag.choices)
      choices +=
          fmt::format("{}{}{}", choices.empty() ? "" : between, choice, choice.ends_with('=') ? "…" : "");
    notes.push_back(choices);
  }
  if (flag.required) notes.emplace_back("required");
  if (flag.type == FlagType::Texts) notes.emplace_back("may be repeated");
  if (!flag.fallback.empty()) notes.push_back(fmt::format("default {}", flag.fallback));
  if (!flag.implied.empty()) notes.push_back(fmt::format("without a value {}", flag.implied));
  if (!notes.empty()) text += fmt::format(" ({})", join(notes, "; "));
  return text;
}

std::string wrap(std::string_view text, int columns, int indent) {
  std::string out;
  int used = 0;
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  for (const std::string_view line : split(text, '\n')) {
    if (line.data() != text.data()) out += "\n", used = 0;
    for (const std::string_view word : split(line, ' ')) {
      if (word.empty()) continue;
      const int width = view::display_width(word);
      if (used > 0 && used + 1 + width > columns) {
        out += "\n" + margin;
        used = 0;
      } else if (used > 0) {
        out += ' ';
        ++used;
      }
      out += word;
      used += width;
    }
  }
  return out;
}

std::string help_text(const HelpTopic& topic, const CommandTable& table, int columns, bool color) {
  HelpWriter writer(columns, color);
  const auto group = std::ranges::find(table.groups, topic.group, &CommandGroup::name);
  if (topic.command != nullptr)
    command_help(writer, table, *topic.command, topic.all_flags ? Flags::All : Flags::Usual);
  else if (group != table.groups.end())
    group_help(writer, table, *group);
  else
    overview(writer, table);
  return writer.take();
}

}  // namespace mist::cli
