#include "main/interrupt.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

#include "base/error.h"

namespace mist {
namespace {

constexpr int kInterruptedExit = 130;
// A signal handler may use only these: lock-free atomics, write(2), _exit(2). request_stop() runs callbacks
// and is not among them, so a thread calls it.
std::atomic<int> g_pipe{-1};
std::atomic<bool> g_interrupted{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void on_signal(int) {
  const int saved = errno;
  if (g_interrupted.exchange(true)) {
    // Below whatever a live progress area shows.
    if (::isatty(STDERR_FILENO) == 1) {
      [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, "\n", 1);
    }
    ::_exit(kInterruptedExit);
  }
  [[maybe_unused]] const ssize_t ignored = ::write(g_pipe.load(), "s", 1);
  errno = saved;
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

bool is_ignored(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Interrupt::Interrupt() {
  std::array<int, 2> fds{};
  MIST_CHECK(::pipe2(fds.data(), O_CLOEXEC) == 0, "no pipe for signals");
  read_ = UniqueFd(fds[0]);
  write_ = UniqueFd(fds[1]);
  g_pipe = write_.get();
  waiter_ = std::thread([this] {
    pollfd signals{.fd = read_.get(), .events = POLLIN, .revents = 0};
    int timeout = static_cast<int>(Pulse::kLater.count());
    while (::poll(&signals, 1, timeout) <= 0) timeout = static_cast<int>(pulse_.beat().count());
    char what = 0;
    while (::read(read_.get(), &what, 1) < 0 && errno == EINTR) continue;
    if (what == 's') source_.request_stop();
    // A command that stops may take its time, and says so.
    while (what == 's') {
      if (::poll(&signals, 1, timeout) > 0) break;
      timeout = static_cast<int>(pulse_.beat().count());
    }
  });
  handle(SIGPIPE, SIG_IGN);
  // Where a parent ignored it, nobody would learn how a child ended.
  handle(SIGCHLD, SIG_DFL);
  // nohup and shells that run in the background give SIG_IGN, which stays.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (!is_ignored(signal)) handle(signal, on_signal);
}

Interrupt::~Interrupt() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (!is_ignored(signal)) handle(signal, SIG_DFL);
  [[maybe_unused]] const ssize_t ignored = ::write(write_.get(), "e", 1);
  waiter_.join();
}

}  // namespace mist
