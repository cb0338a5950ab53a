#include "cli/output/report.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/output/style.h"
#include "view/diagnosis_tree.h"
#include "view/display_width.h"

namespace mist::cli {
namespace {

using encoding::Value;

constexpr std::size_t kMaxField = 4096;
constexpr std::size_t kMaxExcerpt = 100;  // columns
constexpr int kMaxCauses = 16;

// Cuts at a character boundary; says how much is missing.
std::string bounded(std::string_view text) {
  if (text.size() <= kMaxField) return std::string(text);
  std::size_t end = kMaxField;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return fmt::format("{}\n… ({} bytes more)", text.substr(0, end), text.size() - end);
}

std::string one_line(std::string_view text) { return escape_controls(bounded(text)); }

std::string indent(int depth) { return std::string(static_cast<std::size_t>(depth) * 2, ' '); }

class Painter {
 public:
  explicit Painter(bool color) : color_(color) {}

  void draw(const Error& error, int depth) {
    if (error.where) place(*error.where, depth + 1);
    const Diagnosis* diagnosis = diagnosis_of(error);
    // The tree says the same and more.
    if (diagnosis == nullptr) block("because: ", Tone::Strong, error.because, depth + 1);
    if (diagnosis != nullptr) {
      for (const std::string& text : view::diagnosis_lines(*diagnosis, color_, error.hint))
        line(depth + 1, text);
    }
    for (const std::string& frame : error.frames) line(depth + 1, one_line(frame));
    if (error.cause && diagnosis == nullptr) cause(*error.cause, depth + 1);
    block("try: ", Tone::Good, error.hint, depth + 1);
  }

  void title(const Error& error) {
    block("error: ", Tone::Bad, error.message.empty() ? to_string(error.kind) : error.message, 0);
  }

  std::string take() { return std::move(out_); }

 private:
  void line(int depth, std::string_view text) {
    out_ += indent(depth);
    out_ += text;
    out_ += '\n';
  }

  // A label and a text whose further lines are indented below the label.
  void block(std::string_view label, Tone tone, std::string_view text, int depth) {
    const std::string safe = escape_controls(bounded(trim(text)), true);
    if (safe.empty()) return;
    bool first = true;
    for (const std::string_view part : split(safe, '\n')) {
      if (first)
        line(depth, paint(color_, tone, label.substr(0, label.size() - 1)) + " " + std::string(part));
      else
        line(part.empty() ? 0 : depth + 1, part);
      first = false;
    }
  }

  void place(const SourceLocation& where, int depth) {
    line(depth,
         "at " + paint(color_, Tone::Name,
                       place_text(one_line(where.file), where.line, where.column, one_line(where.package))));
    if (!where.excerpt.empty() && where.line != 0) excerpt(where, depth + 1);
  }

  // The caret stands below the column that the error names, whatever widths the characters before it have.
  void excerpt(const SourceLocation& where, int depth) {
    const std::string number = fmt::format("{}", where.line);
    const std::string gutter(number.size(), ' ');
    const Cut cut = cut_around(where.excerpt, where.column);
    line(depth, paint(color_, Tone::Faint, gutter + " |"));
    line(depth, paint(color_, Tone::Faint, number + " |") + " " + cut.before + cut.after);
    if (where.column == 0) return;
    const std::string blank(static_cast<std::size_t>(view::display_width(cut.before)), ' ');
    line(depth, paint(color_, Tone::Faint, gutter + " |") + " " + blank + paint(color_, Tone::Bad, "^"));
  }

  struct Cut {
    std::string before, after;
  };
  // A window of the line around the column, counted in characters; tabs become one space so that the caret
  // lines up.
  static Cut cut_around(std::string_view text, std::uint32_t column) {
    const auto is_start = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
    std::size_t split_at = text.size();
    std::uint32_t characters = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (!is_start(text[i]) || ++characters != std::max(column, 1u)) continue;
      split_at = i;
      break;
    }
    std::string_view before = text.substr(0, split_at);
    bool cut_front = false;
    while (before.size() > kMaxExcerpt * 2 / 3) {
      before.remove_prefix(1);
      while (!before.empty() && !is_start(before.front())) before.remove_prefix(1);
      cut_front = true;
    }
    const auto harmless = [](std::string_view part) {
      std::string copy(part);
      std::ranges::replace(copy, '\t', ' ');
      return escape_controls(copy);
    };
    return {(cut_front ? "…" : "") + harmless(before),
            view::fit_width(harmless(text.substr(split_at).substr(0, kMaxField)),
                            static_cast<int>(kMaxExcerpt - before.size()))};
  }

  void cause(const Error& error, int depth) {
    if (++causes_ > kMaxCauses) return line(depth, "caused by: … (more causes)");
    block("caused by: ", Tone::Strong, error.message.empty() ? to_string(error.kind) : error.message, depth);
    draw(error, depth);
  }

  bool color_;
  int causes_ = 0;
  std::string out_;
};

Value text_or_null(std::string_view text) { return text.empty() ? Value() : Value(bounded(text)); }

Value where_to_value(const std::optional<SourceLocation>& where) {
  if (!where) return {};
  const auto number = [](std::uint32_t n) { return n == 0 ? Value() : Value(std::int64_t{n}); };
  return Value::object({{"file", Value(where->file)},
                        {"line", number(where->line)},
                        {"column", number(where->column)},
                        {"excerpt", text_or_null(where->excerpt)},
                        {"package", text_or_null(where->package)}});
}

Value fields(const Error& error, int depth) {
  Value frames{Value::Array{}};
  for (const std::string& frame : error.frames)
    frames.push_back(Value::object({{"text", Value(bounded(frame))}}));
  const Diagnosis* diagnosis = diagnosis_of(error);  // it stands in the cause's place
  const bool more = error.cause && diagnosis == nullptr && depth < kMaxCauses;
  return Value::object({{"kind", Value(to_string(error.kind))},
                        {"message", Value(bounded(error.message))},
                        {"where", where_to_value(error.where)},
                        {"because", text_or_null(error.because)},
                        {"frames", std::move(frames)},
                        {"hint", text_or_null(error.hint)},
                        {"diagnosis", diagnosis != nullptr ? view::diagnosis_to_value(*diagnosis) : Value()},
                        {"cause", more ? fields(*error.cause, depth + 1) : Value()}});
}

}  // namespace

std::string render_error(const Error& error, bool color) {
  Painter painter(color);
  painter.title(error);
  painter.draw(error, 0);
  return painter.take();
}

Value error_to_value(const Error& error, ExitCode code) {
  return Value::object({{"kind", Value("Error")},
                        {"exitCode", Value(static_cast<std::int64_t>(code))},
                        {"error", fields(error, 0)}});
}

ExitCode exit_code_of(const Error& error) {
  switch (error.kind) {
    case ErrorKind::Usage:
      return ExitCode::Usage;
    case ErrorKind::Cancelled:
      return ExitCode::Interrupted;
    case ErrorKind::NotFound:
    case ErrorKind::Conflict:
    case ErrorKind::Gone:
    case ErrorKind::Forbidden:
    case ErrorKind::Invalid:
    case ErrorKind::Retryable:
    case ErrorKind::Timeout:
    case ErrorKind::Trap:
    case ErrorKind::Internal:
      return ExitCode::Failed;
  }
  return ExitCode::Failed;
}

}  // namespace mist::cli
