#include "base/error.h"

#include <cstdio>
#include <cstdlib>

#include "base/diagnosis.h"
#include "base/text.h"

namespace mist {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::NotFound:
      return "NotFound";
    case ErrorKind::Conflict:
      return "Conflict";
    case ErrorKind::Gone:
      return "Gone";
    case ErrorKind::Forbidden:
      return "Forbidden";
    case ErrorKind::Invalid:
      return "Invalid";
    case ErrorKind::Retryable:
      return "Retryable";
    case ErrorKind::Timeout:
      return "Timeout";
    case ErrorKind::Trap:
      return "Trap";
    case ErrorKind::Cancelled:
      return "Cancelled";
    case ErrorKind::Usage:
      return "Usage";
    case ErrorKind::Internal:
      return "Internal";
  }
  return "Internal";
}

std::string place_text(std::string_view file, std::uint32_t line, std::uint32_t column,
                       std::string_view package) {
  const bool rendered = file.ends_with(kRenderedMark);
  if (rendered) file.remove_suffix(kRenderedMark.size());
  std::string text(file);
  if (line != 0) text += fmt::format(":{}", line);
  if (line != 0 && column != 0) text += fmt::format(":{}", column);
  if (rendered) text += kRenderedMark;
  if (!package.empty()) text += fmt::format(" of {}", package);
  return text;
}

std::string Error::to_line() const {
  std::string line;
  if (where) line = where->text() + ": ";
  line += message;
  const bool is_picture = split(because, '\n').size() > 1;
  if (!because.empty() && !is_picture) line += fmt::format(" ({})", because);
  for (const std::string& frame : frames) line += fmt::format("; {}", frame);
  // A diagnosis says at length what `because` says.
  if (cause && diagnosis_of(*this) == nullptr) line += fmt::format(": {}", cause->to_line());
  if (is_picture) line += fmt::format("\n{}", because);
  return line;
}

void check_failed(const char* expression, const char* file, int line, std::string_view message) {
  std::fprintf(stderr, "mistletoe: a defect: %s:%d: %s does not hold. %.*s\n", file, line, expression,
               static_cast<int>(message.size()), message.data());
  std::abort();
}

}  // namespace mist
