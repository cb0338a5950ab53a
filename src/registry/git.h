#pragma once
// The git program, tamed: no prompts, no hooks, no helpers of the repository, no submodules, no LFS, no
// background maintenance, and only the one protocol that the address names. The user's own configuration
// (credentials, proxies, ssh keys) still counts, the repository's variables (GIT_DIR and its kind) don't. Any
// thread.

#include <cstdint>
#include <string>
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
};

/// The most that one shallow fetch may bring; the callers bound its time.
inline constexpr std::uint64_t kLargestPack = std::uint64_t{4} << 30;

class Git {
 public:
  explicit Git(ProcessRunner& processes, std::uint64_t largest_pack = kLargestPack)
      : processes_(processes), largest_pack_(largest_pack) {}

  /// Returns the output. Errors: NotFound (no git program; the repository doesn't exist), Forbidden
  /// (credentials), Retryable (network), Invalid (output over the limit, protocol refused), Timeout,
  /// Cancelled, Internal (anything else, a damaged repository). git's own words are in `because`, without
  /// credentials.
  Result<std::string> run(const GitCall& call, const Context& context) const;

 private:
  ProcessRunner& processes_;
  std::uint64_t largest_pack_;
};

/// That this machine's git keeps to the addresses that were judged (GitUrl::limited_to_public), which each
/// call to such a remote asks first. Forbidden: it is older than 2.37, ignores the setting
/// http.curloptResolve without a word, and would ask for the name again. Other errors: as of Git::run.
Status check_git_keeps_addresses(ProcessRunner& processes, const Context& context);

/// Which kind of failure git's messages tell of, and what to do.
Error git_failure(std::string_view what, std::string_view messages);

}  // namespace mist::registry
