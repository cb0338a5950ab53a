#include "base/readable.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <stop_token>

#include "base/handle.h"

namespace mist {

Status wait_readable(int fd, const Context& context) {
  const UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const std::stop_callback on_stop(context.stop(), [&] {
    const std::uint64_t one = 1;
    // A full counter has woken the poll already.
    [[maybe_unused]] const ssize_t ignored = ::write(wake.get(), &one, sizeof one);
  });
  while (true) {
    MIST_TRY_VOID(context.check());
    std::array<pollfd, 2> fds{pollfd{fd, POLLIN, 0}, pollfd{wake.get(), POLLIN, 0}};
    int timeout = -1;
    if (const auto left = context.remaining())
      timeout = static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(*left).count());
    if (::poll(fds.data(), fds.size(), timeout) < 0 && errno != EINTR)
      return error(ErrorKind::Internal, "cannot wait for input").with_because(std::strerror(errno));
    if (fds[0].revents != 0) return {};
  }
}

}  // namespace mist
