#pragma once
// The fixture for tests that fetch packages: a user's home on a real disk, in a directory that removes
// itself, registries that a transport of the test answers for, and no environment variables. One thread.

#include <gtest/gtest.h>

#include <memory>

#include "base/clock.h"
#include "base/fs.h"
#include "base/process.h"
#include "config/paths.h"
#include "registry/registry.h"
#include "testing/forwarding_transport.h"
#include "testing/recorded_events.h"
#include "testing/temp_dir.h"

namespace mist::testing {

/// As MIST_HOME_LOCATION has them; without engines and schemas.
inline config::Paths paths_below(const Path& home) {
  config::Paths paths;
  paths.home = home;
  paths.config_file = home / "config.yaml";
  paths.state = home / "state";
  paths.cache = home / "cache";
  return paths;
}

class HomeFixture : public ::testing::Test {
 protected:
  /// Of this home, as another process has them. `web` gets all requests, and outlives them.
  registry::Registries::Dependencies registries_on(http::Transport& web) {
    return {.files = files,
            .processes = processes,
            .events = events,
            .paths = paths,
            .clock = clock,
            .oci = {.transport = [&web] { return std::make_unique<ForwardingTransport>(web); },
                    .environment = [](std::string_view) { return std::nullopt; }}};
  }

  TempDir temp;
  HostFileSystem files;
  HostProcessRunner processes;
  RecordedEvents events;
  SystemClock clock;
  config::Paths paths = paths_below(temp.path() / "home");
};

}  // namespace mist::testing
