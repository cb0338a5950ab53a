#include "catalog/script.h"

#include "catalog/asset_path.h"
#include "catalog/web/scripts.h"

namespace mist::catalog {

const std::string& script() {
  static const std::string text(live_source());
  return text;
}

const std::string& script_path() {
  static const std::string path = asset_path("live", "js", script());
  return path;
}

}  // namespace mist::catalog
