#pragma once
// OciSession: the way of one program to all OCI registries, made when it is needed first: transport,
// credentials, client, and the mirrors before them. Any thread.

#include <functional>
#include <memory>
#include <mutex>

#include "base/event.h"
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

/// Whether packages are read from the mirrors of the configuration, or from registries themselves.
enum class Mirrors : bool { Ignore, Use };

class ConfiguredRegistries;
class MirroredSource;

class OciSession {
 public:
  /// All but `access` outlive this.
  OciSession(OciAccess access, FileSystem& files, ProcessRunner& processes, EventSink& events,
             const ConfiguredRegistries& configured, Mirrors mirrors);
  ~OciSession();

  /// Lives as long as this. Errors: Invalid (no transport).
  Result<OciClient*> client();
  /// For reading: the registries, or mirrors before them. Lives as long as this. Errors: as client, of
  /// ConfiguredRegistries::load, of MirroredSource::make.
  Result<OciSource*> source();
  /// The mirrors alone, for copies of what is in no OCI registry (address_copies.h); null: the configuration
  /// has none, or they are to be ignored. The same.
  Result<MirroredSource*> copies();

 private:
  OciAccess access_;
  FileSystem& files_;
  ProcessRunner& processes_;
  EventSink& events_;
  const ConfiguredRegistries& configured_;
  const Mirrors mirrors_;
  std::mutex mutex_;
  std::unique_ptr<http::Transport> transport_;  // guarded by mutex_ until it is set, then fixed
  std::unique_ptr<OciClient> client_;           // the same
  std::unique_ptr<MirroredSource> mirrored_;    // the same, until source_ is set
  OciSource* source_ = nullptr;                 // the same
  std::unique_ptr<OciSource> nowhere_;          // the same, until copies_ is set
  std::unique_ptr<MirroredSource> copies_;      // the same
};

}  // namespace mist::registry
