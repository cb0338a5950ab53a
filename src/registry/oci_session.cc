#include "registry/oci_session.h"

#include "registry/docker_config.h"

namespace mist::registry {

OciSession::OciSession(OciAccess access, FileSystem& files, ProcessRunner& processes)
    : access_(std::move(access)), files_(files), processes_(processes) {}

Result<OciClient*> OciSession::client() {
  const std::lock_guard lock(mutex_);
  if (client_) return client_.get();
  if (!access_.transport) return error(ErrorKind::Invalid, "OCI registries can't be reached from here");
  transport_ = access_.transport();
  const DockerConfig config({files_, processes_, access_.environment});
  client_ = std::make_unique<OciClient>(
      *transport_,
      [config](const std::string& host, const std::string& path, const Context& context) {
        return config.find(host, path, context);
      },
      OciClient::Options{.plain_http = access_.plain_http});
  return client_.get();
}

}  // namespace mist::registry
