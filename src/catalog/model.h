#pragma once
// The data of a catalog, as plain values. Any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/secret.h"
#include "encoding/value.h"

namespace mist::catalog {

/// The rights of an account beyond looking. Each includes those before it.
enum class Role : std::uint8_t {
  Author,         ///< link projects, and yank versions of them
  Moderator,      ///< yank versions of everybody
  Administrator,  ///< read the audit log, remove everybody's projects
};
std::string_view to_string(Role role);  ///< "author", "moderator", "administrator"
std::optional<Role> role_of(std::string_view text);

struct Account {
  std::int64_t id = 0;
  std::string name = {};
  Role role = Role::Author;
};

/// A git repository whose tags become versions of one package.
struct Project {
  std::int64_t id = 0;
  std::string name = {};   ///< of the package, too
  std::string owner = {};  ///< name of the account
  std::string url = {};    ///< shows no credentials: none are taken
  std::string path = {};   ///< of the package in the repository; empty: its root
  SecretString webhook_secret = {};
  WallTime created{};
  std::optional<WallTime> polled = {};
  std::string problem = {};                ///< why the last poll failed; empty: it didn't
  std::optional<std::string> hidden = {};  ///< why moderators hid its package
};

enum class VersionState : std::uint8_t {
  Queued,   ///< waits for a worker
  Testing,  ///< a worker has it
  Passed,
  Failed,
};
std::optional<VersionState> version_state_of(std::string_view text);
std::string_view to_string(VersionState state);  ///< "queued", "testing", "passed", "failed"

/// Whether a moderator has to look at a version before everybody sees it (docs/catalog-admin.md, "Review").
enum class Review : std::uint8_t {
  Published,  ///< nobody had to, or a moderator approved it
  Awaited,    ///< only its author and moderators see it
  Rejected,   ///< the same, for good unless a moderator approves it after all
};
std::string_view to_string(Review review);  ///< "published", "awaited", "rejected"

/// Which versions await a review when they are submitted.
enum class ReviewPolicy : std::uint8_t {
  None,
  FirstVersion,  ///< those of packages of which none was published yet
  EveryVersion,
};
std::optional<ReviewPolicy> review_policy_of(
    std::string_view text);  ///< "none", "first-version", "every-version"

/// The facts that a package states about itself.
struct PackageFacts {
  struct Dependency {
    std::string name = {};
    std::string range = {};
  };
  std::string format = {};  ///< "Kube", "Helm chart", "Kubernetes YAML", "WebAssembly module"
  std::string description = {};
  std::string home = {};
  std::string details = {};
  std::vector<std::string> maintainers = {};
  std::vector<Dependency> dependencies = {};
  encoding::Value inputs = {};  ///< JSON Schema; null: none
  /// Whether its `name` is an input as others are: of charts. Else it is the release's name, and no value.
  bool takes_name = true;
  std::string defaults = {};  ///< YAML of the values that its templates begin with
  std::vector<std::string> files = {};
  std::string k3 = {};      ///< the text of K3.yaml, or made of a module's metadata; empty: nothing for kpm
  std::string module = {};  ///< where in the repository the module is that it is; empty: it is none

  encoding::Value to_value() const;
  static PackageFacts from_value(const encoding::Value& value);
};

/// A version in lists.
struct VersionBrief {
  std::int64_t id = 0;
  std::string package = {};
  std::string version = {};
  std::string tag = {};
  std::string commit = {};
  std::string digest = {};                    ///< "sha256:…" of its bytes; empty: they couldn't be read
  VersionState state = VersionState::Queued;  ///< by the last test that ended
  /// Of a version that has a result, and is tested once more: Queued or Testing.
  std::optional<VersionState> new_test = {};
  std::optional<std::string> yanked = {};  ///< why
  bool is_yanked_by_moderator = false;
  std::optional<std::string> hidden = {};  ///< why moderators hid it, or its package
  bool is_package_hidden = false;          ///< `hidden` is of the package
  Review review = Review::Published;
  std::string rejected_because = {};  ///< of a rejected one
  WallTime created{};
  std::int64_t downloads = 0;

  /// Others are shown to their author and to moderators alone.
  bool is_for_everybody() const { return !hidden && review == Review::Published; }
};

/// With what is large, which is read only of a version that is shown.
struct Version : VersionBrief {
  PackageFacts facts = {};
  std::string readme = {};
};

/// A version that awaits its review, or was rejected.
struct ReviewedVersion {
  VersionBrief version = {};
  std::string owner = {};
};

/// Gone: what is said of a package or version that moderators hid.
Error hidden_by_moderators(std::string_view what, const std::string& why);

/// A package in a list: its newest version that passed, else the newest.
struct Listed {
  static constexpr std::size_t kDescription = 600;  ///< bytes that are shown of one

  std::string package = {};
  std::string version = {};
  std::string description = {};  ///< a longer one is cut, and ends with "…"
  VersionState state = VersionState::Queued;
  WallTime created{};
};

enum class StepState : std::uint8_t { Passed, Failed, Skipped };
std::string_view to_string(StepState state);  ///< "passed", "failed", "skipped"

/// One thing that is tried with a version.
struct Step {
  std::string name = {};  ///< "lint", "install"
  StepState state = StepState::Passed;
  std::string summary = {};  ///< one line; the store bounds both (Store::add_step)
  std::string log = {};
  WallTime began{};
  Duration elapsed{};
};

/// The nodes of the cluster that a version is tested on. On simulated ones Pods don't really run.
enum class TestNodes : std::uint8_t { None, Real, Simulated, RealAndSimulated };
/// "no nodes", "real nodes", "simulated nodes", "real and simulated nodes"
std::string_view to_string(TestNodes nodes);
/// Some of them are simulated.
bool any_simulated(TestNodes nodes);

/// One try of a version by one worker. While a version is tested once more, that of the test before.
struct Run {
  int attempt = 0;
  std::optional<TestNodes> nodes = {};  ///< nullopt: it wasn't installed
  encoding::Value objects = {};         ///< their graph, as version_objects.h has it; null: not known
  encoding::Value security = {};        ///< security_report.h; null: not known
  std::string text = {};                ///< digest of their text among the blobs; empty: not kept
  std::vector<Step> steps = {};
};

/// A version that a worker has the right to test.
struct Job {
  std::int64_t id = 0;
  int attempt = 1;  ///< from 1
  int excused = 0;  ///< attempts before it that were lost with their worker alone: their Pods went on
  std::string holder = {};
  std::string package = {}, version = {}, digest = {};
  std::string owner = {};
  /// The newest version before it that passed and isn't yanked; empty: there is none.
  std::string previous_version = {}, previous_digest = {};

  /// Of Store::kMostAttempts.
  int counted_attempts() const { return attempt - excused; }
};

struct AuditEntry {
  WallTime when{};
  std::string who = {};  ///< account, "webhook", "command line"
  std::string what = {};
  std::string subject = {};
  std::string peer = {};  ///< IP address; empty: none
};

/// Of a change: what the audit log says of it, in the same transaction, so that neither is there without the
/// other. Its time is the store's. Nothing: nobody is told.
using Audit = std::optional<AuditEntry>;

}  // namespace mist::catalog
