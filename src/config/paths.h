#pragma once
// Every place on disk that Mistletoe uses outside the user's project. Computed once from the environment; a
// plain value; any thread. Nothing is created here: who writes makes the directory with
// `make_private_directory`.
//
//   home     MIST_HOME_LOCATION, else ~/.mistletoe (as the original)
//   config   MIST_CONFIG_LOCATION, else <home>/config.yaml
//   state    <home>/state: what can't be made again (seeds, which bytes a version had)
//   cache    <home>/cache if MIST_HOME_LOCATION is set, so that a home of its own shares nothing with
//            others; else $XDG_CACHE_HOME/mistletoe, else ~/.cache/mistletoe. May be deleted at any time.
//   engines  MIST_ENGINES_LOCATION, else <directory of the program>/../share/mistletoe/engines
//
// A variable that is set but empty counts as not set (XDG Base Directory Specification).

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/fs.h"
#include "base/result.h"

namespace mist::config {

/// Looks a variable up; nullopt when it isn't set.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;

/// The environment of this process.
Environment process_environment();

struct Paths {
  Path home;
  Path config_file;
  Path state;
  Path cache;
  Path engines;

  Path seed_file() const { return state / "seed"; }         ///< seed and clock of renders outside a cluster
  Path pins() const { return state / "registry-pins"; }     ///< which bytes each known version had
  Path registries() const { return cache / "registries"; }  ///< snapshots of git registries
  Path packages() const { return cache / "packages"; }      ///< package bytes by digest
  Path compiled_code() const { return cache / "code"; }     ///< Wasmtime's ahead-of-time code
  Path renders() const { return cache / "renders"; }        ///< sealed results
  Path discovery() const { return cache / "discovery"; }    ///< what API servers serve
  Path exec_credentials() const { return cache / "credentials"; }  ///< answers of exec plugins

  /// All absolute and lexically normal. `program` is the path of the running program (for `engines`). Errors:
  /// Invalid when there is neither a home directory nor MIST_HOME_LOCATION.
  static Result<Paths> from_environment(const Environment& environment, const Path& program);
};

/// Creates `path` (and what is missing above it) with mode 0700. Errors of FileSystem.
Status make_private_directory(FileSystem& files, const Path& path);

}  // namespace mist::config
