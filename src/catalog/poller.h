#pragma once
// From the tags of linked repositories to versions: asks each repository from time to time, or when its
// webhook says so, fetches what is new, and hands it to the queue. A repository is a stranger's: git runs
// with no credentials of ours, in bounds, and at public addresses unless the catalog was told otherwise.
// Several are polled at once, so that one that is slow, or an author who linked many of them, doesn't hold up
// the others. Blocking; any thread.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/context.h"
#include "base/event.h"
#include "base/fs.h"
#include "base/process_limits.h"
#include "catalog/admit.h"
#include "catalog/blobs.h"
#include "catalog/store.h"
#include "encoding/semver.h"
#include "http/resolve.h"
#include "registry/git_url.h"

namespace mist::catalog {

/// Which repositories may be linked.
enum class Repositories : std::uint8_t {
  Public,  ///< by https, at public addresses
  Any,     ///< those of this machine and its networks, too
};

/// The address of a repository, as a stranger wrote it. Invalid: it can't be one, or carries credentials;
/// Forbidden: it isn't allowed. Names are resolved when it is fetched from.
Result<registry::GitUrl> repository_url(const std::string& text, Repositories allowed);

/// Of each process of git that works on a stranger's repository. Beside them its wall time, its output and
/// what it writes have limits (registry/git.h, Poller).
inline constexpr ProcessLimits kStrangersGitLimits{.memory_bytes = std::uint64_t{2} << 30,
                                                   .processor_time = std::chrono::seconds(120)};

/// Whether git goes through the proxy of the environment.
enum class GitProxy : std::uint8_t {
  None,           ///< it connects to the addresses that were judged
  OfEnvironment,  ///< the proxy gets the name, looks it up itself, and judges
};

/// Runs git without the configuration and credentials of who runs the catalog, and so that it needs little.
class IsolatedGit final : public ProcessRunner {
 public:
  /// `home` is an empty directory.
  IsolatedGit(ProcessRunner& processes, Path home, GitProxy proxy = GitProxy::None)
      : processes_(processes), home_(std::move(home)), proxy_(proxy) {}
  Result<ProcessResult> run(const Command& command, const Context& context) override;
  /// Before anything is fetched. Forbidden: this git doesn't keep to addresses that were judged
  /// (registry/git.h). That there is none is told by each use of it.
  Status check_keeps_addresses(const Context& context);

 private:
  ProcessRunner& processes_;
  Path home_;
  GitProxy proxy_;
};

struct PollerDependencies {
  FileSystem& files;
  ProcessRunner& processes;  ///< IsolatedGit
  Clock& clock;
  EventSink& events;
  Store& store;
  Blobs& blobs;
  Path directory;  ///< for what is fetched
  http::Resolver resolve = http::resolve_host;
  Repositories allowed = Repositories::Public;
  ReviewPolicy review = ReviewPolicy::None;
  Duration interval = std::chrono::minutes(10);  ///< between polls of one repository
  int most_polls = 4;                            ///< at once
  std::int64_t most_versions = kVersionsOfAProject;
  std::ptrdiff_t most_tags = 10'000;  ///< of a repository that are looked at: the newest
};

class Poller {
 public:
  explicit Poller(PollerDependencies dependencies) : dependencies_(std::move(dependencies)) {}

  /// Until the context ends. An account never has all polls, unless there is one at once only.
  Status run(const Context& context);
  /// Looks for due projects at once.
  void wake();

  /// One project; its problem is noted and returned. Cancelled.
  Status poll(const Project& project, const Context& context);

 private:
  Status take_tags(const Project& project, const Context& context);
  Status take_new(const Project& project, const registry::GitUrl& url,
                  std::span<const std::pair<encoding::SemVer, RemoteTag>> versions, const Context& context);
  Status take(const Project& project, const registry::GitUrl& url, const std::string& tag,
              const std::string& commit, const Context& context);
  Result<NewVersion> read(const Project& project, const registry::GitUrl& url, const std::string& tag,
                          const std::string& commit, const Context& context);

  void poll_due_projects(const Context& context);
  std::optional<Project> next_due_project(const Context& context);
  Result<std::optional<Project>> take_due_project();
  void note_end(const Project& project);

  PollerDependencies dependencies_;
  std::mutex looking_;  // one thread looks for due projects, those that are free wait for their turn
  std::mutex mutex_;    // of what follows
  std::condition_variable_any woken_;
  bool wake_ = false;
  std::vector<Project> polled_;
};

}  // namespace mist::catalog
