#include "catalog/shared_bytes.h"

#include <utility>

namespace mist::catalog {

Result<std::shared_ptr<const std::string>> SharedBytes::get(const std::string& name, const Load& load) {
  const std::shared_ptr<Held> found = held(name);
  const std::scoped_lock lock(found->loading);
  if (!found->bytes) {
    MIST_TRY(std::string bytes, load());
    MIST_TRY_VOID(count(bytes.size()));
    found->bytes = std::move(bytes);
  }
  return std::shared_ptr<const std::string>(found, &*found->bytes);
}

Status SharedBytes::count(std::uint64_t size) {
  if ((*sum_ += size) <= most_ || size <= kSmall) return {};
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
