#pragma once
// Large bytes that several answers send at the same time are in memory once, for as long as one of them needs
// them. Any thread.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"

namespace mist::catalog {

class SharedBytes {
 public:
  using Load = std::function<Result<std::string>()>;

  /// The bytes of that name, which never change: those that somebody has already, else what `load` gives.
  /// Callers who want the same ones wait for the first one's load. Errors: those of `load`; they aren't kept.
  Result<std::shared_ptr<const std::string>> get(const std::string& name, const Load& load);

 private:
  struct Held {
    std::mutex loading;
    std::optional<std::string> bytes;  // set once, guarded by loading until then
  };
  std::shared_ptr<Held> held(const std::string& name);

  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<Held>> held_;  // guarded by mutex_
};

}  // namespace mist::catalog
