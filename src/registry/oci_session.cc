#include "registry/oci_session.h"

#include "config/config.h"
#include "registry/configured_registries.h"
#include "registry/docker_config.h"
#include "registry/oci_mirrors.h"

namespace mist::registry {
namespace {

// Stands behind mirrors of what is in no OCI registry.
class Nowhere final : public OciSource {
 public:
  Result<RawManifest> manifest(const oci::Repository& repository, const std::string& tag,
                               const Context& /*context*/) override {
    return nothing(fmt::format("{} of {}", tag, repository.str()));
  }
  Result<std::optional<RawManifest>> find_manifest(const oci::Repository& /*repository*/,
                                                   const std::string& /*tag*/,
                                                   const Context& /*context*/) override {
    return std::optional<RawManifest>();
  }
  Result<std::vector<oci::Descriptor>> referrers(const oci::Repository& /*repository*/,
                                                 const crypto::Digest& /*manifest*/,
                                                 std::string_view /*artifact_type*/,
                                                 const Context& /*context*/) override {
    return std::vector<oci::Descriptor>();
  }
  Result<std::string> blob(const oci::Repository& repository, const oci::Descriptor& descriptor,
                           std::uint64_t /*limit*/, const Context& /*context*/) override {
    return nothing(fmt::format("{} of {}", descriptor.digest.str(), repository.str()));
  }
  Result<std::vector<std::string>> tags(const oci::Repository& repository,
                                        const Context& /*context*/) override {
    return nothing(fmt::format("repository {}", repository.str()));
  }

 private:
  static Error nothing(std::string_view what) {
    return error(ErrorKind::NotFound, "there is no {} in the mirrors", what)
        .with_hint("mistctl mirror copies it there");
  }
};

}  // namespace

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

Result<MirroredSource*> OciSession::copies() {
  if (mirrors_ == Mirrors::Ignore) return nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (copies_) return copies_.get();
  }
  MIST_TRY(const config::Config config, configured_.load());
  if (config.mirrors().empty()) return nullptr;
  MIST_TRY(OciClient* const registries, client());
  const std::lock_guard lock(mutex_);
  if (copies_) return copies_.get();
  nowhere_ = std::make_unique<Nowhere>();
  MirroredSource::Dependencies dependencies{files_, events_, configured_.directory()};
  dependencies.originals = nowhere_.get();
  MIST_TRY(copies_, MirroredSource::make(*registries, config.mirrors(), std::move(dependencies)));
  return copies_.get();
}

}  // namespace mist::registry
