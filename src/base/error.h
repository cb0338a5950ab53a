#pragma once
// The one error type of Mistletoe. It carries what the caller needs to act (`kind`) and what a person needs
// to understand (message, frames, place, because, hint). cli/output/report.cc is the only code that draws it.
// Any thread; a plain value.

#include <fmt/core.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mist {

/// The kind of an error tells the caller what to do next.
enum class ErrorKind : std::uint8_t {
  NotFound,   ///< it isn't there: create it, or ask for another
  Conflict,   ///< somebody else changed or owns it: look again, or ask the user
  Gone,       ///< the server forgot that version (HTTP 410): list again
  Forbidden,  ///< not allowed (HTTP 401, 403): nothing to retry
  Invalid,    ///< the input is wrong: the user must change it
  Retryable,  ///< may work later (network, 429, 5xx)
  Timeout,    ///< a deadline passed
  Trap,       ///< a guest stopped at a fault or at one of its limits
  Cancelled,  ///< the user or a caller asked to stop
  Usage,      ///< the command line is wrong (exit code 2)
  Internal,   ///< a defect of ours, or of the machine (disk, memory)
};

/// "NotFound", "Conflict", … as `-o json` prints it.
std::string_view to_string(ErrorKind kind);

/// Ends the `file` of a place in what a package made, of which nobody knows what line of the package it is.
inline constexpr std::string_view kRenderedMark = " (rendered)";

/// "app.yaml:11", "app.yaml:11 (rendered)", "app.yaml:11 of platform → web"; without the numbers that are 0.
std::string place_text(std::string_view file, std::uint32_t line, std::uint32_t column = 0,
                       std::string_view package = {});

/// A place in a text that the user can open, or in what was rendered.
struct SourceLocation {
  std::string file;          ///< as the user wrote it, or the path inside a package; may end in kRenderedMark
  std::uint32_t line = 0;    ///< from 1; 0: unknown
  std::uint32_t column = 0;  ///< from 1; 0: unknown
  std::string excerpt;       ///< the line itself, without its newline; may be empty
  /// Of a called package: the path of packages to it, "platform → mariadb", whose file this is.
  std::string package = {};

  std::string text() const { return place_text(file, line, column, package); }
  friend bool operator==(const SourceLocation&, const SourceLocation&) = default;
};

/// The meaning of an error for the program, beside its kind: facts as types of the layers that know them
/// (kube::ApiFailure, release::AnchorMoved). Program logic reads these; it never reads the words of an error,
/// which are for people (tools/check-errors.py enforces that). At most one fact of each type.
class ErrorDetails {
 public:
  template <typename T>
  void set(T detail) {
    const void* type = &kType<T>;
    std::erase_if(entries_, [&](const Entry& entry) { return entry.type == type; });
    entries_.push_back({type, std::make_shared<const T>(std::move(detail))});
  }
  /// Null: the error says nothing about it.
  template <typename T>
  const T* find() const {
    for (const Entry& entry : entries_)
      if (entry.type == &kType<T>) return static_cast<const T*>(entry.value.get());
    return nullptr;
  }

 private:
  // Its address is the type's name within this process.
  template <typename T>
  static inline const char kType = 0;
  struct Entry {
    const void* type;
    std::shared_ptr<const void> value;
  };
  std::vector<Entry> entries_;
};

struct Error {
  ErrorKind kind = ErrorKind::Internal;
  std::string message;                  ///< what failed, one sentence without a full stop
  std::vector<std::string> frames;      ///< innermost first: "while applying Deployment shop/api"
  std::optional<SourceLocation> where;  ///< the place in the user's text
  std::string because;                  ///< the other side's own words (API server, guest's stderr)
  std::string hint;                     ///< what to do, a command where there is one
  std::shared_ptr<const Error> cause;   ///< an error of a lower layer that this one wraps
  ErrorDetails details;                 ///< never printed

  /// Each `with_*` returns *this, for `return Error{…}.with_hint(…)`.
  Error&& with_frame(std::string frame) && {
    frames.push_back(std::move(frame));
    return std::move(*this);
  }
  Error&& with_hint(std::string text) && {
    hint = std::move(text);
    return std::move(*this);
  }
  Error&& with_because(std::string text) && {
    because = std::move(text);
    return std::move(*this);
  }
  template <typename T>
  Error&& with_detail(T detail) && {
    details.set(std::move(detail));
    return std::move(*this);
  }
  /// The fact of this type, or null.
  template <typename T>
  const T* detail() const {
    return details.find<T>();
  }
  Error&& at(SourceLocation location) && {
    where = std::move(location);
    return std::move(*this);
  }
  Error&& caused_by(Error lower) && {
    cause = std::make_shared<const Error>(std::move(lower));
    return std::move(*this);
  }

  /// In one line, for logs and tests: "message (because); frame"; a `because` of several lines stands below.
  std::string to_line() const;
};

/// `error(ErrorKind::NotFound, "release {} does not exist", name)`.
template <typename... Args>
Error error(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  Error result;
  result.kind = kind;
  result.message = fmt::format(format, std::forward<Args>(args)...);
  return result;
}

/// Stops the process: an invariant of ours is broken. Never for bad input. Prints to stderr.
[[noreturn]] void check_failed(const char* expression, const char* file, int line, std::string_view message);

}  // namespace mist

#define MIST_CHECK(condition, ...)                                          \
  do {                                                                      \
    if (!(condition)) [[unlikely]]                                          \
      ::mist::check_failed(#condition, __FILE__, __LINE__, "" __VA_ARGS__); \
  } while (false)
