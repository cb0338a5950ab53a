#pragma once
// The clients of a program that acts as many users. Names of users may come from anybody who can make an
// object, so clients that nobody holds are kept only up to a number: the longest unused goes first, with its
// connections. Any thread.

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "kube/client.h"

namespace mist::kube {

/// A client that somebody else keeps, for callers that share clients of a pool.
inline std::shared_ptr<Client> borrowed(Client& client) { return {std::shared_ptr<void>(), &client}; }

class ClientPool {
 public:
  /// Makes the client of a user; called under the pool's lock, so it must not send anything.
  using Make = std::function<Result<std::shared_ptr<Client>>(const std::string& user)>;

  static constexpr std::size_t kMostIdle = 64;

  explicit ClientPool(Make make, std::size_t most_idle = kMostIdle)
      : make_(std::move(make)), most_idle_(most_idle) {}

  /// The client of `user`, the same one for all who hold it at a time. Errors: of `make`, which are not kept.
  Result<std::shared_ptr<Client>> of(const std::string& user) {
    const std::lock_guard lock(mutex_);
    if (const auto known = places_.find(user); known != places_.end()) {
      used_.splice(used_.begin(), used_, known->second);
      return used_.front().second;
    }
    MIST_TRY(std::shared_ptr<Client> client, make_(user));
    used_.emplace_front(user, client);
    places_.emplace(user, used_.begin());
    drop_idle();
    return client;
  }

  /// How many clients there are, those in use among them.
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return used_.size();
  }

 private:
  using Users = std::list<std::pair<std::string, std::shared_ptr<Client>>>;  // last used first

  void drop_idle() {
    std::size_t idle = 0;
    for (auto each = used_.begin(); each != used_.end();) {
      // Clients are only handed out here: one that only the pool holds can't be shared meanwhile.
      if (each->second.use_count() > 1 || ++idle <= most_idle_) {
        ++each;
        continue;
      }
      places_.erase(each->first);
      each = used_.erase(each);
    }
  }

  const Make make_;
  const std::size_t most_idle_;
  mutable std::mutex mutex_;
  Users used_;
  std::unordered_map<std::string, Users::iterator> places_;
};

}  // namespace mist::kube
