#include "main/exhaustion.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>

namespace mist {
namespace {

constexpr int kFailedExit = 1;

// Without allocations, and without buffers of standard error that another thread may hold.
[[noreturn]] void end(const char* what, const char* remedy) {
  std::array<char, 512> line{};
  const int size = std::snprintf(line.data(), line.size(),
                                 "\nerror: the system refused this process %s. It ended at once, as if "
                                 "killed.\n  try: %s, then run it again: "
                                 "it goes on from what was done, or says how\n",
                                 what, remedy);
  if (size > 0) {
    [[maybe_unused]] const ssize_t ignored =
        ::write(STDERR_FILENO, line.data(), std::min(static_cast<std::size_t>(size), line.size() - 1));
  }
  ::_exit(kFailedExit);
}

[[noreturn]] void on_terminate() {
  if (const std::exception_ptr thrown = std::current_exception()) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      end("more memory", "end what uses much of it, or raise the limit of this process or container");
    } catch (const std::system_error& failed) {
      if (failed.code() == std::errc::resource_unavailable_try_again)
        end("another thread",
            "look what runs so many processes and threads, or raise the limit (ulimit -u, pids.max)");
      std::fprintf(stderr, "%s\n", failed.what());
    } catch (const std::exception& failed) {
      std::fprintf(stderr, "%s\n", failed.what());
    } catch (...) {
      std::fputs("an exception that is no std::exception\n", stderr);
    }
  }
  std::abort();
}

}  // namespace

void explain_exhaustion() { std::set_terminate(on_terminate); }

}  // namespace mist
