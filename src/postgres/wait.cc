#include "postgres/wait.h"

#include <poll.h>

#include <algorithm>

#include "postgres/libpq.h"

namespace mist::postgres {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

// A TLS record that is larger than libpq's free buffer is read from the socket at once, and its rest stays
// inside OpenSSL, where poll() doesn't see it. So libpq is asked every now and then.
constexpr std::chrono::milliseconds kSlice = 200ms;

// Whether the socket is ready, or broken.
bool poll_once(int descriptor, bool sending, std::chrono::milliseconds time) {
  ::pollfd socket{
      .fd = descriptor, .events = static_cast<short>(sending ? POLLIN | POLLOUT : POLLIN), .revents = 0};
  return descriptor < 0 || ::poll(&socket, 1, static_cast<int>(time.count())) != 0;
}

}  // namespace

bool wait_for_result(const Libpq& pq, pg_conn* connection, std::chrono::milliseconds limit) {
  auto heard = SteadyClock::now();
  while (true) {
    const int unsent = pq.PQflush(connection);
    if (unsent <= 0 && pq.PQisBusy(connection) == 0) return true;
    std::chrono::milliseconds slice = kSlice;
    if (limit >= 0ms) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(heard + limit - SteadyClock::now());
      if (left <= 0ms) return false;
      slice = std::min(slice, left);
    }
    if (poll_once(pq.PQsocket(connection), unsent > 0, slice)) heard = SteadyClock::now();
    if (pq.PQconsumeInput(connection) == 0) return true;
  }
}

}  // namespace mist::postgres
