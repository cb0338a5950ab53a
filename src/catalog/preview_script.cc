#include "catalog/preview_script.h"

#include <fmt/core.h>

#include "catalog/web/scripts.h"
#include "crypto/digest.h"

namespace mist::catalog {
namespace {

std::string path_of(std::string_view name, std::string_view text) {
  return fmt::format("/assets/{}-{}.js", name, crypto::sha256(text).hex().substr(0, 16));
}

}  // namespace

const std::string& preview_script() {
  static const std::string text(preview_source());
  return text;
}

const std::string& preview_script_path() {
  static const std::string path = path_of("preview", preview_script());
  return path;
}

const std::string& preview_worker() {
  static const std::string text(preview_worker_source());
  return text;
}

const std::string& preview_worker_path() {
  static const std::string path = path_of("preview-worker", preview_worker());
  return path;
}

const std::string& preview_worker_policy() {
  static const std::string policy =
      "default-src 'none'; script-src 'wasm-unsafe-eval'; connect-src 'self'; base-uri 'none'; "
      "frame-ancestors 'none'";
  return policy;
}

}  // namespace mist::catalog
