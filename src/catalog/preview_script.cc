#include "catalog/preview_script.h"

#include "catalog/asset_path.h"
#include "catalog/web/scripts.h"

namespace mist::catalog {

const std::string& preview_script() {
  static const std::string text(preview_source());
  return text;
}

const std::string& preview_script_path() {
  static const std::string path = asset_path("preview", "js", preview_script());
  return path;
}

const std::string& preview_worker() {
  static const std::string text(preview_worker_source());
  return text;
}

const std::string& preview_worker_path() {
  static const std::string path = asset_path("preview-worker", "js", preview_worker());
  return path;
}

const std::string& preview_worker_policy() {
  static const std::string policy =
      "default-src 'none'; script-src 'wasm-unsafe-eval'; connect-src 'self'; base-uri 'none'; "
      "frame-ancestors 'none'";
  return policy;
}

}  // namespace mist::catalog
