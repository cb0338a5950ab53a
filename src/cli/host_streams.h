#pragma once
// Standard input, output and error of the process.

#include <atomic>
#include <mutex>
#include <string>

#include "cli/machine.h"

namespace mist::cli {

/// A file descriptor that isn't ours to close. Reading ends when the context does, also while a terminal
/// waits for its user.
class HostInput final : public Input {
 public:
  explicit HostInput(int fd) : fd_(fd) {}
  bool is_terminal() const override;
  Result<std::optional<std::string>> read_line(const Context& context) override;
  Result<std::optional<std::string>> read_hidden_line(const Context& context,
                                                      const std::function<void()>& ask) override;
  Result<std::string> read_all(std::uint64_t limit, const Context& context) override;

 private:
  /// More bytes into buffer_; false at the end.
  Result<bool> fill(const Context& context);
  int fd_;
  std::string buffer_;
};

enum class Buffering : bool { None, Blocks };
enum class Drawing : bool { Utf8, Ascii };

class HostOutput final : public Output {
 public:
  /// `name` stands in errors: "standard output". `drawing`: what a terminal gets instead of the characters
  /// that we draw with (style.h: in_ascii); not for data.
  HostOutput(int fd, std::string name, Buffering buffering, Drawing drawing = Drawing::Utf8)
      : fd_(fd), name_(std::move(name)), buffering_(buffering), drawing_(drawing) {}
  void write(std::string_view text) override;
  Status flush() override;
  bool broken() override;
  void share(Screen* screen) override;
  bool is_terminal() const override;
  int columns() const override;
  int rows() const override;

 private:
  void drain_locked();
  void write_locked(std::string_view text);
  const int fd_;
  const std::string name_;
  const Buffering buffering_;
  const Drawing drawing_;
  std::mutex mutex_;
  std::string buffer_;
  Screen* screen_ = nullptr;
  int failed_ = 0;  // errno of the first write that failed
};

}  // namespace mist::cli
