#include "catalog/shared_bytes.h"

#include <utility>

namespace mist::catalog {

Result<std::shared_ptr<const std::string>> SharedBytes::get(const std::string& name, const Load& load) {
  const std::shared_ptr<Held> found = held(name);
  const std::scoped_lock lock(found->loading);
  if (!found->bytes) {
    MIST_TRY(found->bytes, load());
  }
  return std::shared_ptr<const std::string>(found, &*found->bytes);
}

std::shared_ptr<SharedBytes::Held> SharedBytes::held(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(held_, [](const auto& each) { return each.second.expired(); });
  std::weak_ptr<Held>& known = held_[name];
  std::shared_ptr<Held> found = known.lock();
  if (!found) known = found = std::make_shared<Held>();
  return found;
}

}  // namespace mist::catalog
