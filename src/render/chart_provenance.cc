#include "render/chart_provenance.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#include "package/capabilities.h"

namespace mist::render {
namespace {

// As engines/openpgp has them.
constexpr const char* kEngine = "openpgp";
constexpr const char* kKeyringFile = "keyring";
constexpr const char* kProvenanceFile = "chart.prov";

class OpenPgpEngine {
 public:
  OpenPgpEngine(package::RendererOptions options, EventSink& events)
      : options_(std::move(options)), events_(events) {}

  Result<trust::CheckedProvenance> check(const std::string& keyring, const std::string& provenance,
                                         WallTime now, const Context& context) {
    package::Source source;
    source.reference = source.name = "a provenance file";
    source.engine = kEngine;
    // Of both: the prepared state of an engine is kept by it.
    source.digest = crypto::sha256(crypto::sha256(keyring).str() + crypto::sha256(provenance).str()).str();
    source.content = package::Files{{kKeyringFile, keyring}, {kProvenanceFile, provenance}};
    package::RenderRequest request;
    request.release_name = "provenance";
    request.release_namespace = "default";
    request.user_values = encoding::Value::object(
        {{"now", std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count()}});
    request.quiet = true;
    package::assume_cluster(request, {}, {});
    MIST_TRY(const package::Rendered answer, renderer().render_files(source, request, context));
    return trust::checked_provenance(answer.exports);
  }

 private:
  package::Renderer& renderer() {
    const std::lock_guard lock(mutex_);
    if (!renderer_) renderer_ = std::make_unique<package::Renderer>(options_, events_);
    return *renderer_;
  }

  package::RendererOptions options_;
  EventSink& events_;
  std::mutex mutex_;
  std::unique_ptr<package::Renderer> renderer_;  // guarded by mutex_ until it is made
};

}  // namespace

trust::CheckProvenance provenance_checker(package::RendererOptions engines, EventSink& events) {
  return [engine = std::make_shared<OpenPgpEngine>(std::move(engines), events)](
             const std::string& keyring, const std::string& provenance, WallTime now,
             const Context& context) { return engine->check(keyring, provenance, now, context); };
}

registry::Registries::Dependencies with_provenance(registry::Registries::Dependencies dependencies,
                                                   const package::RendererOptions& engines) {
  if (!dependencies.check_provenance)
    dependencies.check_provenance = provenance_checker(engines, dependencies.events);
  return dependencies;
}

}  // namespace mist::render
