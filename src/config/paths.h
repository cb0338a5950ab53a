#pragma once
// Every place on disk that Mistletoe uses outside the user's project. Computed once from the environment; a
// plain value; any thread. Nothing is created here: who writes makes the directory with
// `make_private_directory`.
//
//   home     MIST_HOME_LOCATION, else ~/.mistletoe (as the original)
//   config   MIST_CONFIG_LOCATION, else <home>/config.yaml
//   trust    MIST_TRUST_LOCATION, which then has to be there, else <home>/trust.yaml
//   state    <home>/state: what can't be made again (seeds, which bytes a version had)
//   cache    <home>/cache if MIST_HOME_LOCATION is set, so that a home of its own shares nothing with
//            others; else $XDG_CACHE_HOME/mistletoe, else ~/.cache/mistletoe. May be deleted at any time.
//   engines  MIST_ENGINES_LOCATION, else <directory of the program>/../share/mistletoe/engines
//   schemas  MIST_SCHEMAS_LOCATION, else <directory of the program>/../share/mistletoe/schemas
//   safe     MIST_SAFE_DIRECTORY: directories (separated by colons) that check_places takes as they are, as
//            git's safe.directory; for volumes of containers, which everybody may write to
//
// MIST_CACHE_LIMIT is how large all caches together may become ("1Gi"), for a cache on a volume that isn't
// larger; without it each has a limit of its own (cache_limits.h).
//
// A variable that is set but empty counts as not set (XDG Base Directory Specification).

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  Path schemas;
  std::vector<Path> safe;
  std::optional<Path> named_trust_policy = {};    ///< MIST_TRUST_LOCATION
  std::optional<std::uint64_t> cache_limit = {};  ///< MIST_CACHE_LIMIT, in bytes

  /// The policy says who must have signed which packages.
  Path trust_policy() const { return named_trust_policy.value_or(home / "trust.yaml"); }
  Path seed_file() const { return state / "seed"; }          ///< seed and clock of renders outside a cluster
  Path signatures() const { return state / "signatures"; }   ///< by whom packages were signed so far
  Path pins() const { return state / "registry-pins"; }      ///< which bytes each known version had
  Path registries() const { return cache / "registries"; }   ///< snapshots of git registries
  Path packages() const { return cache / "packages"; }       ///< package bytes by digest
  Path search_index() const { return cache / "search.db"; }  ///< indexes of all registries
  Path compiled_code() const { return cache / "code"; }      ///< Wasmtime's ahead-of-time code
  Path renders() const { return cache / "renders"; }         ///< sealed results
  Path discovery() const { return cache / "discovery"; }     ///< what API servers serve
  Path exec_credentials() const { return cache / "credentials"; }  ///< answers of exec plugins
  /// Of which packages catalogs were told today.
  Path told_installs() const { return state / "told-installs"; }

  /// All absolute and lexically normal. `program` is the path of the running program (for `engines` and
  /// `schemas`). Errors:
  /// Invalid when there is neither a home directory nor MIST_HOME_LOCATION, or MIST_CACHE_LIMIT is no size.
  static Result<Paths> from_environment(const Environment& environment, const Path& program);
};

/// Whether only this user may write where Mistletoe keeps data that it trusts later: home, state and cache,
/// and the configuration and the trust policy unless a variable names them. Places in a directory of
/// `paths.safe` aren't checked. Makes a missing one of them where others could make it first (see
/// base/safe_directory.h). Errors: as check_safe_directory; hints name MIST_HOME_LOCATION.
Status check_places(const Paths& paths);
/// The same of one more place, which `variable` moves elsewhere ("KPM_HOME").
Status check_place(const Paths& paths, const Path& place, std::string_view variable);

/// Whether only this user may write a file that says what is trusted (check_safe_file). Files below a
/// directory of `paths.safe` aren't checked. Errors: as check_safe_file.
Status check_trusted_file(const Paths& paths, const Path& file);

/// Creates `path` (and what is missing above it) with mode 0700. Errors of FileSystem.
Status make_private_directory(FileSystem& files, const Path& path);

}  // namespace mist::config
