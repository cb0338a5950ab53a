#pragma once
// The git program, tamed: no prompts, no hooks, no helpers of the repository, no submodules, no LFS, no
// background maintenance, and only the one protocol that the address names. The user's own configuration
// (credentials, proxies, ssh keys) still counts, the repository's variables (GIT_DIR and its kind) don't. Any
// thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/process.h"
#include "base/result.h"
#include "registry/git_url.h"

namespace mist::registry {

struct GitCall {
  std::vector<std::string> arguments;  ///< the subcommand and what follows; options end before foreign text
  Path repository;                     ///< bare; empty: none
  const GitUrl* remote = nullptr;      ///< whom this call may talk to; null: nobody
  std::string input;
  std::uint64_t output_limit = std::uint64_t{64} << 20;
  std::vector<std::string> settings = {};  ///< of this call: "fetch.negotiationAlgorithm=noop"
  /// Bytes of each file that a call with a remote writes, where that is less than the largest pack.
  std::optional<std::uint64_t> file_limit = {};
};

/// The most that one shallow fetch may bring, and all that is fetched into the same snapshot later; the
/// callers bound its time.
inline constexpr std::uint64_t kLargestPack = std::uint64_t{4} << 30;

/// How much git may bring onto the disk.
struct GitLimits {
  std::uint64_t largest_pack = kLargestPack;
  /// The bytes that all snapshots below one directory may have beside what is being fetched (fetch_turn.h);
  /// nothing: no bound.
  std::optional<std::uint64_t> snapshots = {};
};

/// The detail of the Invalid of a fetch that brings more than it may.
struct FetchTooLarge {};

class Git {
 public:
  explicit Git(ProcessRunner& processes, const GitLimits& limits = {})
      : processes_(processes), limits_(limits) {}

  /// Returns the output. Errors: NotFound (no git program; the repository doesn't exist), Forbidden
  /// (credentials), Retryable (network), Invalid (output over the limit, protocol refused), Timeout,
  /// Cancelled, Internal (anything else, a damaged repository). git's own words are in `because`, without
  /// credentials.
  Result<std::string> run(const GitCall& call, const Context& context) const;

  const GitLimits& limits() const { return limits_; }

 private:
  ProcessRunner& processes_;
  GitLimits limits_;
};

/// That this machine's git keeps to the addresses that were judged (GitUrl::limited_to_public), which each
/// call to such a remote asks first. Forbidden: it is older than 2.37, ignores the setting
/// http.curloptResolve without a word, and would ask for the name again. Other errors: as of Git::run.
Status check_git_keeps_addresses(ProcessRunner& processes, const Context& context);

/// Which kind of failure git's messages tell of, and what to do.
Error git_failure(std::string_view what, std::string_view messages);
/// The same of a fetch that ended well, and brought too much.
Error fetch_too_large(const GitUrl& remote);

}  // namespace mist::registry
