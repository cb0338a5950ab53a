// The configuration file: what is read is written and read again the same, and its view shows no credentials.
#include "config/config.h"

#include "targets.h"

namespace mist::fuzz {

void config(std::string_view bytes) {
  std::vector<std::string> warnings;
  const auto config = config::Config::parse(bytes, "config.yaml", &warnings);
  if (!config.ok()) return check_error(config.error());
  const auto again = config::Config::parse(config->serialize(), "written");
  if (!again.ok()) fail("what was written can't be read", again.error().to_line());
  if (again->registries() != config->registries() || again->remote_bases() != config->remote_bases() ||
      again->cache_limits() != config->cache_limits())
    fail("it is written as something else", config->serialize());
  (void)config->view();
}

}  // namespace mist::fuzz
