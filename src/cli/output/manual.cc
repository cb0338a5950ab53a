#include "cli/output/manual.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "cli/output/help.h"
#include "cli/output/style.h"
#include "cli/parse/flags.h"
#include "view/display_width.h"

namespace mist::cli {
namespace {

constexpr int kLeastCell = 20;

// The Markdown that our pages use, as a list of blocks.
struct Block {
  enum class Kind { Title, Heading, Paragraph, Item, Code, Table } kind;
  std::string text;  // of Code and Table with their newlines; else one line
};

bool is_row(std::string_view line) { return line.starts_with('|'); }

using Row = std::vector<std::string_view>;

// Without the line that parts the headers from the rest.
std::vector<Row> rows_of(const Block& table) {
  std::vector<Row> rows;
  for (std::string_view line : split(table.text, '\n')) {
    if (line.find_first_not_of("|-: ") == std::string_view::npos) continue;
    line.remove_prefix(1);
    if (line.ends_with('|')) line.remove_suffix(1);
    Row row;
    for (const std::string_view cell : split(line, '|')) row.push_back(trim(cell));
    rows.push_back(std::move(row));
  }
  return rows;
}

bool is_item(std::string_view line) { return line.starts_with("* ") || line.starts_with("- "); }

std::vector<Block> parse_markdown(std::string_view text) {
  std::vector<Block> blocks;
  bool fenced = false, open = false;  // open: the next plain line continues the last block
  const auto add = [&](Block::Kind kind, std::string_view line, bool stays_open) {
    blocks.push_back({kind, std::string(line)});
    open = stays_open;
  };
  const auto code = [&](std::string_view line) {
    if (!open || blocks.empty() || blocks.back().kind != Block::Kind::Code) add(Block::Kind::Code, "", true);
    blocks.back().text += std::string(line) + "\n";
  };
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("```")) {
      fenced = !fenced;
      open = false;
    } else if (fenced) {
      code(line);
    } else if (line.starts_with("    ") && (!open || blocks.back().kind == Block::Kind::Code)) {
      code(line.substr(4));
    } else if (trim(line).empty()) {
      // An empty line inside indented code belongs to it if more code follows; trailing ones are cut below.
      if (open && blocks.back().kind == Block::Kind::Code)
        blocks.back().text += "\n";
      else
        open = false;
    } else if (line.starts_with("# ")) {
      add(Block::Kind::Title, line.substr(2), false);
    } else if (line.starts_with("#")) {
      add(Block::Kind::Heading, trim(line.substr(line.find_first_not_of('#'))), false);
    } else if (is_row(line)) {
      if (!open || blocks.back().kind != Block::Kind::Table) add(Block::Kind::Table, "", true);
      blocks.back().text += std::string(line) + "\n";
    } else if (is_item(line)) {
      add(Block::Kind::Item, trim(line.substr(2)), true);
    } else if (open && blocks.back().kind != Block::Kind::Code && blocks.back().kind != Block::Kind::Table) {
      blocks.back().text += " " + std::string(trim(line));
    } else {
      add(Block::Kind::Paragraph, trim(line), true);
    }
  }
  for (Block& block : blocks)
    while (block.text.ends_with('\n')) block.text.pop_back();
  return blocks;
}

// Calls `plain`, `code` or `bold` for each run of a line.
template <typename Visit>
void visit_runs(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::size_t mark = std::min(text.find('`'), text.find("**"));
    if (mark == std::string_view::npos) return visit(text, false);
    const std::string_view fence = text[mark] == '`' ? "`" : "**";
    const std::size_t end = text.find(fence, mark + fence.size());
    if (end == std::string_view::npos) return visit(text, false);
    if (mark > 0) visit(text.substr(0, mark), false);
    visit(text.substr(mark + fence.size(), end - mark - fence.size()), true);
    text.remove_prefix(end + fence.size());
  }
}

std::string plain_runs(std::string_view text) {
  std::string out;
  visit_runs(text, [&](std::string_view run, bool) { out += run; });
  return out;
}

// Columns as wide as their widest cell, the last one wrapped.
std::string table_text(const Block& table, int width) {
  std::vector<int> widths;
  const std::vector<Row> rows = rows_of(table);
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i + 1 < row.size(); ++i)
      widths[i] = std::max(widths[i], view::display_width(plain_runs(row[i])));
  }
  std::string out;
  for (const Row& row : rows) {
    int at = 4;
    out += "    ";
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      const std::string cell = plain_runs(row[i]);
      out += cell + std::string(static_cast<std::size_t>(widths[i] + 3 - view::display_width(cell)), ' ');
      at += widths[i] + 3;
    }
    out += wrap(plain_runs(row.back()), std::max(width - at, kLeastCell), at) + "\n";
  }
  return out;
}

std::string roff_escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";  // groff would print a hyphen that can't be copied into a shell
    else
      out += c;
  }
  // A line must not begin with a control character of roff.
  std::string safe;
  bool at_start = true;
  for (const char c : out) {
    if (at_start && (c == '.' || c == '\'')) safe += "\\&";
    safe += c;
    at_start = c == '\n';
  }
  return safe;
}

std::string roff_runs(std::string_view text) {
  std::string out;
  visit_runs(text, [&](std::string_view run, bool strong) {
    out += strong ? fmt::format("\\fB{}\\fR", roff_escape(run)) : roff_escape(run);
  });
  return out;
}

std::string roff_entry(std::string_view label, std::string_view text) {
  return fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff_escape(trim(label)), roff_escape(text));
}

std::string roff_table(const Block& table) {
  std::string out;
  for (const Row& row : rows_of(table)) {
    std::vector<std::string> rest;
    for (std::size_t i = 1; i < row.size(); ++i) rest.push_back(roff_runs(row[i]));
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff_escape(plain_runs(row[0])), join(rest, "; "));
  }
  return out;
}

std::string roff_flags(const FlagGroup& group) {
  std::string out = fmt::format(".SS {}\n", group.title);
  for (const Flag& flag : group.flags) out += roff_entry(flag_label(flag), flag_sentence(flag));
  return out;
}

bool belongs_to(const Command& command, std::string_view page) {
  return !command.hidden && (command.path == page || command.path.starts_with(fmt::format("{} ", page)));
}

std::string summary_of(std::string_view page, const CommandTable& table) {
  for (const CommandGroup& group : table.groups)
    if (group.name == page) return std::string(group.summary);
  for (const Command* command : table.commands)
    if (command->path == page) return std::string(command->summary);
  return "mistctl";
}

}  // namespace

const ManualPage* find_page(std::string_view name) {
  const auto pages = manual_pages();
  const auto found = std::ranges::find(pages, name, &ManualPage::name);
  return found == pages.end() ? nullptr : &*found;
}

std::string render_page(const ManualPage& page, int columns, bool color) {
  const int width = std::clamp(columns, 60, 100);
  std::string out;
  for (const Block& block : parse_markdown(page.text)) {
    const bool first = out.empty();
    switch (block.kind) {
      case Block::Kind::Title:
      case Block::Kind::Heading:
        out += (first ? "" : "\n") + paint(color, Tone::Strong, plain_runs(block.text)) + "\n";
        break;
      case Block::Kind::Paragraph:
        out += "\n" + wrap(plain_runs(block.text), width, 0) + "\n";
        break;
      case Block::Kind::Item:
        out += "  * " + wrap(plain_runs(block.text), width - 4, 4) + "\n";
        break;
      case Block::Kind::Code:
        out += "\n";
        for (const std::string_view line : split(block.text, '\n'))
          out += line.empty() ? "\n" : fmt::format("    {}\n", line);
        break;
      case Block::Kind::Table:
        out += "\n" + table_text(block, width);
        break;
    }
  }
  return out +
         paint(color, Tone::Faint, fmt::format("\nArguments and flags: mistctl {} --help-all\n", page.name));
}

std::string roff_page(const ManualPage& page, const CommandTable& table, std::string_view version) {
  std::string upper(page.name);
  for (char& c : upper)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  std::string out = fmt::format(".TH MISTCTL\\-{} 1 \"\" \"mistctl {}\" \"Mistletoe\"\n", upper, version);
  out += fmt::format(".SH NAME\nmistctl\\-{} \\- {}\n.SH SYNOPSIS\n", page.name,
                     roff_escape(summary_of(page.name, table)));
  for (const Command* command : table.commands)
    if (belongs_to(*command, page.name))
      out += fmt::format("\\fB{}\\fR\n.br\n", roff_escape(usage_line(*command)));
  out += ".SH DESCRIPTION\n";
  for (const Block& block : parse_markdown(page.text)) {
    switch (block.kind) {
      case Block::Kind::Title:
        break;
      case Block::Kind::Heading:
        out += fmt::format(".SH {}\n", roff_escape(plain_runs(block.text)));
        break;
      case Block::Kind::Paragraph:
        out += fmt::format(".PP\n{}\n", roff_runs(block.text));
        break;
      case Block::Kind::Item:
        out += fmt::format(".IP \\(bu 2\n{}\n", roff_runs(block.text));
        break;
      case Block::Kind::Code:
        out += fmt::format(".PP\n.RS 4\n.nf\n{}\n.fi\n.RE\n", roff_escape(block.text));
        break;
      case Block::Kind::Table:
        out += roff_table(block);
        break;
    }
  }
  for (const Command* command : table.commands) {
    if (!belongs_to(*command, page.name)) continue;
    if (command->arguments.empty() && command->flags.empty()) continue;
    out += fmt::format(".SH {}\n", roff_escape(fmt::format("mistctl {}", command->path)));
    for (const Argument& argument : command->arguments) out += roff_entry(argument.name, argument.help);
    for (const FlagGroup& group : command->flags) out += roff_flags(group);
  }
  out += ".SH FLAGS OF ALL COMMANDS\n";
  for (const Flag& flag : kGlobalFlags.flags) out += roff_entry(flag_label(flag), flag_sentence(flag));
  return out;
}

}  // namespace mist::cli
