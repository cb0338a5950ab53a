#pragma once
// Credentials from an exec plugin (aws eks get-token, gke-gcloud-auth-plugin, kubelogin …): KEP-541,
// client.authentication.k8s.io/v1 and v1beta1. The plugin runs when there is no credential yet, when the last
// one expired, and after a 401; never twice at once. Any thread.

#include <mutex>
#include <optional>
#include <string>

#include "base/event.h"
#include "base/process.h"
#include "kube/auth.h"

namespace mist::kube {

class ExecCredentials final : public CredentialSource {
 public:
  struct World {
    ProcessRunner& processes;
    const Clock& clock;
    EventSink& events;  ///< what a plugin prints on stderr without a terminal
    bool interactive_terminal = false;
  };

  /// `base` holds what the user has beside the plugin.
  ExecCredentials(ExecEntry exec, std::string user, ClusterEntry cluster, Credential base, World world);

  Result<Credential> get(const Context& context) override;
  bool refresh(const Credential& rejected) override;

 private:
  Result<Credential> run(const Context& context);
  Result<Credential> parse(std::string_view output);
  std::string exec_info(bool interactive) const;

  const ExecEntry exec_;
  const std::string user_;
  const ClusterEntry cluster_;
  const Credential base_;
  const World world_;
  std::mutex mutex_;
  std::optional<Credential> current_;
  std::optional<WallTime> expires_;
};

/// RFC 3339; nullopt if `text` isn't that.
std::optional<WallTime> parse_rfc3339(std::string_view text);

}  // namespace mist::kube
