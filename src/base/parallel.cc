#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

namespace mist {

Status parallel_for(std::size_t count, std::size_t workers, const std::function<Status(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::optional<std::pair<std::size_t, Error>> first;  // guarded by mutex

  const auto run = [&] {
    while (!failed.load(std::memory_order_relaxed)) {
      const std::size_t index = next.fetch_add(1, std::memory_order_relaxed);
      if (index >= count) return;
      Status status = work(index);
      if (status.ok()) continue;
      failed.store(true, std::memory_order_relaxed);
      const std::scoped_lock lock(mutex);
      if (!first || index < first->first) first.emplace(index, std::move(status).error());
    }
  };
  {
    std::vector<std::jthread> threads;
    try {
      for (std::size_t i = 1; i < std::min(workers, count); ++i) threads.emplace_back(run);
    } catch (const std::system_error&) {
      // No more threads to be had: those that there are do it.
    }
    run();
  }
  if (first) return std::move(first->second);
  return {};
}

}  // namespace mist
