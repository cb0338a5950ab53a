#pragma once
// The certificates of a cluster's authority (CA): a text that stays, or a file that somebody may replace when
// the authority is renewed. Any thread.

#include <functional>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace mist::kube {

class ClusterCa {
 public:
  /// PEM, checked.
  using Read = std::function<Result<std::string>()>;

  /// The same for ever; empty: the system's roots.
  explicit ClusterCa(std::string pem);
  /// Read again when a minute has passed and after a server that wasn't trusted; what can't be read, or
  /// changes while it is read, leaves the last good text. `clock` must outlive this.
  ClusterCa(Read read, std::string first, const Clock& clock);

  std::string pem();
  /// A server wasn't trusted by `distrusted`, which pem() gave. True if pem() has another text now.
  bool refresh(const std::string& distrusted);

 private:
  void look();  // mutex_ is held

  const Read read_;  // null: it stays
  const Clock* const clock_ = nullptr;
  std::mutex mutex_;
  std::string current_;   // guarded by mutex_
  SteadyTime read_at_{};  // guarded by mutex_
};

}  // namespace mist::kube
