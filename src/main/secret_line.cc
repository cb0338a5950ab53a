#include "main/secret_line.h"

#include <termios.h>
#include <unistd.h>

#include "base/readable.h"
#include "main/printing.h"

namespace mist {
namespace {

constexpr std::size_t kLongest = 4096;

// The terminal shows nothing of what is typed, as long as this lives.
class Unseen {
 public:
  Unseen() {
    if (::tcgetattr(0, &before_) != 0) return;
    termios hidden = before_;
    hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    changed_ = ::tcsetattr(0, TCSAFLUSH, &hidden) == 0;
  }
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;
  ~Unseen() {
    if (!changed_) return;
    (void)::tcsetattr(0, TCSAFLUSH, &before_);
    print_to(2, "\n");
  }

 private:
  termios before_{};
  bool changed_ = false;
};

}  // namespace

Result<std::string> read_secret_line(std::string_view prompt, const Context& context) {
  const bool is_terminal = ::isatty(0) == 1;
  // First: what is typed at once would be seen otherwise, and lost.
  const Unseen unseen;
  if (is_terminal) print_to(2, prompt);
  std::string line;
  char c = 0;
  while (line.size() < kLongest) {
    // A read alone would go on after an interrupt, and the next one ends the process without an echo.
    MIST_TRY_VOID(wait_readable(0, context));
    if (::read(0, &c, 1) != 1 || c == '\n') break;
    line += c;
  }
  if (line.empty()) return error(ErrorKind::Invalid, "nothing came on standard input");
  if (line.size() >= kLongest) return error(ErrorKind::Invalid, "the line has {} bytes or more", kLongest);
  return line;
}

}  // namespace mist
