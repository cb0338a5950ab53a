#include "registry/oci_session.h"

#include "config/config.h"
#include "registry/configured_registries.h"
#include "registry/docker_config.h"
#include "registry/oci_mirrors.h"

namespace mist::registry {

OciSession::OciSession(OciAccess access, FileSystem& files, ProcessRunner& processes, EventSink& events,
                       const ConfiguredRegistries& configured, Mirrors mirrors)
    : access_(std::move(access)),
      files_(files),
      processes_(processes),
      events_(events),
      configured_(configured),
      mirrors_(mirrors) {}

OciSession::~OciSession() = default;

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
      OciClient::Options{.plain_http = access_.plain_http, .events = &events_});
  return client_.get();
}

Result<OciSource*> OciSession::source() {
  MIST_TRY(OciClient* const registries, client());
  const std::lock_guard lock(mutex_);
  if (source_ != nullptr) return source_;
  if (mirrors_ == Mirrors::Use) {
    MIST_TRY(const config::Config config, configured_.load());
    if (!config.mirrors().empty()) {
      MIST_TRY(mirrored_, MirroredSource::make(*registries, config.mirrors(),
                                               {files_, events_, configured_.directory()}));
    }
  }
  source_ = mirrored_ ? static_cast<OciSource*>(mirrored_.get()) : registries;
  return source_;
}

}  // namespace mist::registry
