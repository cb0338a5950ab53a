#include "cli/host_streams.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/readable.h"
#include "cli/output/style.h"

namespace mist::cli {
namespace {

constexpr std::size_t kBlock = std::size_t{64} << 10;

Error input_error(int code) {
  return error(ErrorKind::Internal, "cannot read standard input").with_because(std::strerror(code));
}

winsize terminal_size(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) size = {};
  return size;
}

}  // namespace

bool HostInput::is_terminal() const { return ::isatty(fd_) == 1; }

Result<bool> HostInput::fill(const Context& context) {
  std::array<char, kBlock> block;
  while (true) {
    MIST_TRY_VOID(wait_readable(fd_, context));
    const ssize_t count = ::read(fd_, block.data(), block.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return input_error(errno);
    buffer_.append(block.data(), static_cast<std::size_t>(count));
    return count > 0;
  }
}

Result<std::optional<std::string>> HostInput::read_line(const Context& context) {
  while (buffer_.find('\n') == std::string::npos) {
    MIST_TRY(const bool more, fill(context));
    if (more) continue;
    if (buffer_.empty()) return std::optional<std::string>();
    return std::optional<std::string>(std::exchange(buffer_, {}));
  }
  const std::size_t end = buffer_.find('\n');
  std::optional<std::string> line(buffer_.substr(0, end));
  buffer_.erase(0, end + 1);
  return line;
}

namespace {

// A terminal shows nothing of what is typed while this lives.
class EchoOff {
 public:
  explicit EchoOff(int fd) : fd_(fd), changed_(::tcgetattr(fd, &before_) == 0) {
    termios quiet = before_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    if (changed_) changed_ = ::tcsetattr(fd_, TCSAFLUSH, &quiet) == 0;
  }
  EchoOff(const EchoOff&) = delete;
  EchoOff& operator=(const EchoOff&) = delete;
  ~EchoOff() {
    if (changed_) ::tcsetattr(fd_, TCSAFLUSH, &before_);
  }

 private:
  int fd_;
  termios before_{};
  bool changed_;
};

}  // namespace

Result<std::optional<std::string>> HostInput::read_hidden_line(const Context& context,
                                                               const std::function<void()>& ask) {
  const EchoOff off(fd_);
  ask();
  return read_line(context);
}

Result<std::string> HostInput::read_all(std::uint64_t limit, const Context& context) {
  while (true) {
    if (buffer_.size() > limit)
      return error(ErrorKind::Invalid, "standard input is larger than {} bytes", limit);
    MIST_TRY(const bool more, fill(context));
    if (!more) return std::exchange(buffer_, {});
  }
}

void HostOutput::write(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (drawing_ == Drawing::Ascii && is_terminal())
    buffer_ += view::in_ascii(text);
  else
    buffer_ += text;
  if (buffering_ == Buffering::None || buffer_.size() >= kBlock) drain_locked();
}

void HostOutput::drain_locked() {
  // The drawing stands below the last line, so a line that has no end yet waits for it.
  const std::size_t end = screen_ == nullptr ? buffer_.size() : buffer_.rfind('\n') + 1;
  if (end == 0) return;
  {
    const ScreenPause pause(screen_);
    write_locked(std::string_view(buffer_).substr(0, end));
  }
  buffer_.erase(0, end);
}

void HostOutput::write_locked(std::string_view rest) {
  while (!rest.empty() && failed_ == 0) {
    const ssize_t count = ::write(fd_, rest.data(), rest.size());
    if (count >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      // Somebody who shares the descriptor made it non-blocking.
      pollfd ready{fd_, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      failed_ = errno;
    }
  }
}

void HostOutput::share(Screen* screen) {
  const std::lock_guard lock(mutex_);
  screen_ = screen;
}

Status HostOutput::flush() {
  const std::lock_guard lock(mutex_);
  drain_locked();
  if (failed_ == 0 || failed_ == EPIPE) return {};
  const bool full = failed_ == ENOSPC || failed_ == EDQUOT;
  Error failure = error(full ? ErrorKind::Retryable : ErrorKind::Internal, "cannot write to {}", name_)
                      .with_because(std::strerror(failed_));
  if (full) failure.hint = "make room, or send the output elsewhere; what was printed is incomplete";
  return failure;
}

bool HostOutput::broken() {
  const std::lock_guard lock(mutex_);
  if (failed_ != 0) return true;
  // Of a pipe, whose other end may be closed while nothing is written.
  pollfd reader{fd_, 0, 0};
  return ::poll(&reader, 1, 0) > 0 && (reader.revents & (POLLERR | POLLHUP)) != 0;
}

bool HostOutput::is_terminal() const { return ::isatty(fd_) == 1; }

int HostOutput::columns() const {
  const winsize size = terminal_size(fd_);
  return size.ws_col == 0 ? 80 : size.ws_col;
}

int HostOutput::rows() const {
  const winsize size = terminal_size(fd_);
  return size.ws_row == 0 ? 24 : size.ws_row;
}

}  // namespace mist::cli
