#pragma once
// Large bytes that several answers send at the same time are in memory once, for as long as one of them needs
// them; in all they are bounded, however many different ones slow clients take. That these leave some of it
// to others is the business of the server that sends them (http::WebServerOptions::shared_bytes), which
// counts all of them together: so one server has one SharedBytes. Any thread.

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"

namespace mist::catalog {

class SharedBytes {
 public:
  using Size = std::function<Result<std::uint64_t>()>;
  using Load = std::function<Result<std::string>()>;
  /// So small are bytes that may always be held: as many as there are connections.
  static constexpr std::uint64_t kSmall = std::uint64_t{1} << 20;

  static constexpr std::uint64_t kMost = std::uint64_t{1} << 30;

  /// No more than `most` bytes are held in all, beside small ones.
  explicit SharedBytes(std::uint64_t most = kMost) : most_(most) {}

  /// The bytes of that name, which never change: those that somebody has already, else what `load` gives.
  /// Callers who want the same ones wait for the first one's load. `size`: how many `load` will give. Errors:
  /// those of both; Retryable: too many others are held, and nothing was loaded. They aren't kept.
  Result<std::shared_ptr<const std::string>> get(const std::string& name, const Size& size, const Load& load);

 private:
  using Sum = std::atomic<std::uint64_t>;
  struct Held {
    explicit Held(std::shared_ptr<Sum> all) : sum(std::move(all)) {}
    ~Held() { *sum -= counted; }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

    const std::shared_ptr<Sum> sum;  // of all that are held, which may outlive this SharedBytes
    std::mutex loading;
    std::uint64_t counted = 0;         // in sum; guarded by loading
    std::optional<std::string> bytes;  // set once, guarded by loading until then
  };
  Status count(Held& held, std::uint64_t size) const;
  std::shared_ptr<Held> held(const std::string& name);

  const std::uint64_t most_;
  const std::shared_ptr<Sum> sum_ = std::make_shared<Sum>(0);
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<Held>> held_;  // guarded by mutex_
};

}  // namespace mist::catalog
