#include "package/own_stack.h"

#include <pthread.h>
#include <time.h>

#include <chrono>
#include <exception>
#include <system_error>

namespace mist::package {
namespace {

// Of the host's own calls, beside the guest's.
constexpr std::size_t kHostStackBytes = std::size_t{2} << 20;

}  // namespace

Duration thread_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// A thread without a size of its own gets 2 MiB where the process has no limit: a guest would run off it.
Status on_own_stack(std::size_t guest_bytes, const std::function<void()>& work) {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, guest_bytes + kHostStackBytes);
  pthread_t thread{};
  struct Run {
    const std::function<void()>& work;
    std::exception_ptr thrown;  // an exception that leaves a thread would end the process
  } run{work, nullptr};
  const auto begin = [](void* given) -> void* {
    Run& self = *static_cast<Run*>(given);
    try {
      self.work();
    } catch (...) {
      self.thrown = std::current_exception();
    }
    return nullptr;
  };
  // The thread ends before this returns, so it may use what is here.
  const int failed = ::pthread_create(&thread, &attributes, begin, &run);
  ::pthread_attr_destroy(&attributes);
  if (failed != 0)
    return error(ErrorKind::Internal, "no thread could be made for a called package")
        .with_because(std::generic_category().message(failed));
  ::pthread_join(thread, nullptr);
  if (run.thrown) std::rethrow_exception(run.thrown);
  return {};
}

}  // namespace mist::package
