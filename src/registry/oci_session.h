#pragma once
// OciSession: the way of one program to all OCI registries, made when it is needed first: transport,
// credentials, client. Any thread.

#include <functional>
#include <memory>
#include <mutex>

#include "base/fs.h"
#include "base/process.h"
#include "base/result.h"
#include "config/paths.h"
#include "http/transport.h"
#include "registry/oci_client.h"

namespace mist::registry {

struct OciAccess {
  /// Makes what requests go through (http::RetryingClient); empty: no OCI registry can be reached.
  std::function<std::unique_ptr<http::Transport>()> transport = {};
  config::Environment environment = {};  ///< tells where credentials are (docker_config.h)
  bool plain_http = false;               ///< OciClient::Options
};

class OciSession {
 public:
  /// `files` and `processes` outlive this.
  OciSession(OciAccess access, FileSystem& files, ProcessRunner& processes);

  /// Lives as long as this. Errors: Invalid (no transport).
  Result<OciClient*> client();

 private:
  OciAccess access_;
  FileSystem& files_;
  ProcessRunner& processes_;
  std::mutex mutex_;
  std::unique_ptr<http::Transport> transport_;  // guarded by mutex_ until it is set, then fixed
  std::unique_ptr<OciClient> client_;           // the same
};

}  // namespace mist::registry
