#include "catalog/shared_bytes.h"

#include <utility>

namespace mist::catalog {

Result<std::shared_ptr<const std::string>> SharedBytes::get(const std::string& name, const Size& size,
                                                            const Load& load) {
  const std::shared_ptr<Held> found = held(name);
  const std::scoped_lock lock(found->loading);
  if (!found->bytes) {
    // Before they are read: what is refused costs nothing.
    if (found->counted == 0) {
      MIST_TRY(const std::uint64_t wanted, size());
      MIST_TRY_VOID(count(*found, wanted));
    }
    MIST_TRY(found->bytes, load());
  }
  return std::shared_ptr<const std::string>(found, &*found->bytes);
}

Status SharedBytes::count(Held& held, std::uint64_t size) const {
  const std::uint64_t sum = *sum_ += size;
  if (sum <= most_ || size <= kSmall) {
    held.counted = size;
    return {};
  }
  *sum_ -= size;
  return error(ErrorKind::Retryable, "too much is being downloaded at this moment")
      .with_hint("try again in a minute");
}

std::shared_ptr<SharedBytes::Held> SharedBytes::held(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(held_, [](const auto& each) { return each.second.expired(); });
  std::weak_ptr<Held>& known = held_[name];
  std::shared_ptr<Held> found = known.lock();
  if (!found) known = found = std::make_shared<Held>(sum_);
  return found;
}

}  // namespace mist::catalog
