#pragma once
// Credentials from an exec plugin (aws eks get-token, gke-gcloud-auth-plugin, kubelogin …): KEP-541,
// client.authentication.k8s.io/v1 and v1beta1. The plugin runs when there is no credential yet, when the last
// one expired, and after a 401; never twice at once. Any thread.
//
// It runs on a thread of its own, in nobody's time: who waits for it may give up (the renewer of a lock has
// seconds, a person may need minutes to log in) without ending it for the others. It ends with its source.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/event.h"
#include "base/process.h"
#include "kube/auth.h"
#include "kube/cluster_ca.h"

namespace mist::kube {

class ExecCredentials final : public CredentialSource {
 public:
  struct Dependencies {
    ProcessRunner& processes;
    const Clock& clock;
    EventSink& events;  ///< what a plugin prints on stderr without a terminal; that it takes long
    bool interactive_terminal = false;
    /// For a plugin that can't talk to a person. Generous, since it may have opened a browser all the same;
    /// but what is started by a machine must end.
    Duration limit = std::chrono::minutes(5);
    /// Until something is said about it. A cloud's plugin needs about a second.
    Duration announce_after = std::chrono::seconds(2);
  };

  /// `base` holds what the user has beside the plugin.
  ExecCredentials(ExecEntry exec, std::string user, ClusterEntry cluster, std::shared_ptr<ClusterCa> ca,
                  Credential base, Dependencies dependencies);

  /// The Context bounds the waiting. Forbidden also when the plugin took too long.
  Result<Credential> get(const Context& context) override;
  bool refresh(const Credential& rejected) override;

 private:
  struct Issued {
    Credential credential;
    std::optional<WallTime> expires;
  };
  // A run of the plugin; shared with who waits for it. Guarded by mutex_.
  struct Login {
    std::optional<Result<Credential>> outcome;
    SteadyTime announce_at;
    bool announced = false;
    std::optional<Activity> waiting;
  };
  void begin_login();           // mutex_ is held
  void announce(Login& login);  // mutex_ is held
  bool is_interactive() const;
  Duration announce_after() const;
  std::string described() const;
  Result<Issued> run(const Context& context) const;
  Result<Issued> parse(std::string_view output) const;
  std::string exec_info(bool interactive) const;

  const ExecEntry exec_;
  const std::string user_;
  const ClusterEntry cluster_;
  const std::shared_ptr<ClusterCa> ca_;
  const Credential base_;
  const Dependencies dependencies_;
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::optional<Issued> current_;  // guarded by mutex_
  std::shared_ptr<Login> login_;   // the one that is under way; guarded by mutex_
  std::jthread runner_;            // last: it uses all of the above
};

/// RFC 3339; nullopt if `text` isn't that.
std::optional<WallTime> parse_rfc3339(std::string_view text);

}  // namespace mist::kube
