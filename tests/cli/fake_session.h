#pragma once
// The cluster of one transcript: a FakeCluster whose objects stand in a file between two commands, what is to
// happen to requests, and a clock that continues where the last command left it. One process at a time has
// it; the others wait. Any thread, once it is made.

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "base/fs.h"
#include "cli/machine.h"
#include "encoding/value.h"
#include "testing/event_clock.h"
#include "testing/fake_clock.h"
#include "testing/fake_cluster.h"

namespace mist::testing {

class FakeSession {
 public:
  /// Begins with the cluster in `file`, or with a new one.
  explicit FakeSession(const Path& file);
  FakeSession(const FakeSession&) = delete;
  FakeSession& operator=(const FakeSession&) = delete;
  /// Writes the file.
  ~FakeSession();

  FakeCluster& cluster() { return cluster_; }
  EventClock& clock() { return clock_; }
  Random& random() { return random_; }
  Context context() { return Context().with_clock(clock_); }

  /// The cluster as `user` sees it ("viewer" may only read), with the logs of containers. `ns` is the
  /// namespace of releases.
  std::unique_ptr<kube::Client> client(std::string user, std::string ns);

  /// What happens to requests: "refuse" and "kill" before one, "status" after one (fake_cluster_main.cc has
  /// the commands). A later one for the same requests replaces an earlier one.
  void add_rule(encoding::Value rule);
  void remove_rules(std::string_view what);
  /// A controller's words about one object.
  void set_status(const ObjectKey& key, encoding::Value status);
  void add_log(const std::string& pod, const std::string& container, const std::string& text);

 private:
  class Client;
  std::optional<Error> before(const FakeCall& call);
  std::optional<Error> after(const FakeCall& call);
  void control(const FakeCall& call);
  const encoding::Value* rule(std::string_view what, const FakeCall& call) const;
  void let_others_end() const;
  void save();
  void pass_time(const std::stop_token& stop);

  const Path file_;
  const FileLock lock_;
  encoding::Value state_;
  FakeCluster cluster_;
  EventClock clock_;
  FakeRandom random_;
  std::atomic<std::size_t> requests_ = 0;
  std::jthread time_;  // last: it uses the others
};

}  // namespace mist::testing
