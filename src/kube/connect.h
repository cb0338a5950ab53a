#pragma once
// From the flags and the environment to a client: reads the kubeconfig (or a Pod's service account), and puts
// credentials, HTTP client, retries and RestClient together. No request is sent before the first call.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/event.h"
#include "base/fs.h"
#include "base/process.h"
#include "base/random.h"
#include "http/client.h"
#include "http/retry.h"
#include "kube/kubeconfig.h"
#include "kube/rest_client.h"

namespace mist::kube {

struct ConnectOptions {
  std::string kubeconfig = {};           ///< --kubeconfig; empty: KUBECONFIG, ~/.kube/config, the Pod's own
  std::string context = {};              ///< --context; empty: current-context
  std::string as_user = {};              ///< whom to impersonate; empty: as the kubeconfig says
  std::string ns = {};                   ///< overrides the context's namespace; empty: it doesn't
  std::string user_agent = "mistletoe";  ///< see user_agent()
  Path cache_directory = {};             ///< where discovery is kept; empty: nowhere
  Duration request_timeout = std::chrono::seconds(60);
  http::ClientOptions http = {};  ///< TLS, proxy and user agent are set from the context
  http::RetryOptions retry = {};
};

/// The services of the process that connect() needs; all of them must outlive the client.
struct ConnectDependencies {
  FileSystem& fs;
  ProcessRunner& processes;
  Clock& clock;
  Random& random;
  EventSink& events;
  Getenv getenv;
  bool interactive_terminal = false;  ///< standard input is a terminal: credential plugins may ask
  /// Called after each exchange with the server, every repeat by itself, with its method and the status of
  /// the answer, 0 without one; of a watch when its first piece arrives. Any thread. Empty: nobody counts.
  std::function<void(std::string_view method, int status)> exchanged = nullptr;
};

/// Errors: Invalid and NotFound about the kubeconfig, with its line; Forbidden about credential files.
Result<std::unique_ptr<RestClient>> connect(const ConnectOptions& options,
                                            const ConnectDependencies& dependencies);

/// The context that `connect` would use, without making a client: for `config view`, and for tests.
Result<ResolvedContext> resolve_context(const ConnectOptions& options,
                                        const ConnectDependencies& dependencies);

/// " --context dev --kubeconfig /tmp/config": the flags with which mistctl and kubectl find the same cluster;
/// an empty one is left out.
std::string cluster_words(std::string_view context, std::string_view kubeconfig);

/// "mistctl/0.1.0 (linux/amd64)".
std::string user_agent(std::string_view program, std::string_view version);

}  // namespace mist::kube
