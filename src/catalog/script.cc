#include "catalog/script.h"

#include <fmt/core.h>

#include "catalog/web/scripts.h"
#include "crypto/digest.h"

namespace mist::catalog {

const std::string& script() {
  static const std::string text(live_source());
  return text;
}

const std::string& script_path() {
  static const std::string path =
      fmt::format("/assets/live-{}.js", crypto::sha256(script()).hex().substr(0, 16));
  return path;
}

}  // namespace mist::catalog
