#include "main/printing.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace mist {
namespace {

// 0, or the errno of the write that failed.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

// Of write_all to standard output.
Status outcome(int failed) {
  if (failed == 0) return {};
  const bool full = failed == ENOSPC || failed == EDQUOT;
  return error(full ? ErrorKind::Retryable : ErrorKind::Internal, "cannot write to standard output")
      .with_because(std::strerror(failed));
}

}  // namespace

void print_to(int fd, std::string_view text) { (void)write_all(fd, text); }

Status print_result(std::string_view text) {
  const int failed = write_all(STDOUT_FILENO, text);
  return failed == EPIPE ? Status() : outcome(failed);
}

Status deliver_result(std::string_view text) { return outcome(write_all(STDOUT_FILENO, text)); }

}  // namespace mist
