#pragma once
// The memory of a catalog, and its queue of tests. The interface names no database; sql_store.h is the
// one implementation. Blocking; any thread, and several processes may have a store of the same data.
//
// Every call is whole or not at all, and kept once it returns. Errors: those of the database (Retryable where
// trying again may help); others are named.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "catalog/model.h"
#include "search/entry.h"

namespace mist::catalog {

struct NewProject {
  std::string name = {}, owner = {}, url = {}, path = {};
  SecretString webhook_secret = {};
};

/// The version that was found at a tag.
struct NewVersion {
  std::string package = {}, version = {}, tag = {}, commit = {};
  std::string digest = {};  ///< empty: it couldn't be read; `why_not` is its only step then, and it failed
  PackageFacts facts = {};
  std::string readme = {};
  std::optional<Step> why_not = {};
  std::string owner = {}, url = {};  ///< of the link that it was read for; empty: whichever there is
  ReviewPolicy review = ReviewPolicy::None;
};

/// A place in a list, as an answer gave it; empty: its beginning.
struct Page {
  std::string after = {};
  int limit = 50;
};
template <typename T>
struct Slice {
  std::vector<T> items = {};
  std::string next = {};  ///< Page::after of the next one; empty: there is none
};

/// So many downloads of those bytes on that day (since 1970, UTC).
struct DownloadCount {
  std::string digest = {};
  std::int64_t day = 0, count = 0;
};
/// Of a package since some day: what was downloaded on each, the newest first.
struct DownloadsOfDay {
  std::int64_t day = 0;
  std::string version = {};
  std::int64_t count = 0;
};

/// A Kube that kpm may install.
struct IndexEntry {
  std::string package = {}, version = {}, digest = {}, k3 = {};
  std::optional<std::string> yanked = {};  ///< why
};

enum class Submitted : std::uint8_t {
  Taken,    ///< it waits for a worker, or failed at once
  Known,    ///< the same commit was taken before
  Changed,  ///< the version is there already, of another commit: nothing was changed
};

/// The filters of a list.
struct Narrowing {
  std::string format = {};                 ///< PackageFacts::format; empty: any
  std::optional<VersionState> state = {};  ///< nullopt: any
};

/// How many packages a search finds, by their facets. The counts of a facet are of what the other one leaves,
/// so that they say what choosing another value of it would give.
struct Facets {
  struct Count {
    std::string value = {};
    std::int64_t count = 0;
  };
  std::int64_t found = 0;           ///< with both
  bool more = false;                ///< there are more than were counted
  std::vector<Count> formats = {};  ///< the most frequent first
  std::vector<Count> states = {};   ///< to_string(VersionState), in its order
};

/// Of the audit log: what isn't empty must fit.
struct AuditFilter {
  std::string who = {}, what = {};
  std::string subject = {};  ///< a part of it
};

/// That an account may have linked: each of them is asked from time to time.
inline constexpr std::int64_t kProjectsOfAnAccount = 1'000;
/// That one may have: its page lists them all.
inline constexpr std::int64_t kVersionsOfAProject = 5'000;
/// A hint for one that has them. Under another name, the old tags would be versions that failed.
inline constexpr std::string_view kHintOfAFullProject =
    "to publish further versions, rename the package, and link a repository that doesn't have the old tags";

/// The polls of a process that haven't ended.
struct Polls {
  std::vector<std::string> projects = {};  ///< aren't taken once more
  std::vector<std::string> owners = {};    ///< theirs come after those of others
  bool others_only = false;                ///< theirs are not taken at all
  /// Between polls of one repository. One that is due much later than that is due now: it was polled while
  /// the clock was ahead.
  Duration interval = std::chrono::minutes(10);
};

class Store {
 public:
  virtual ~Store() = default;

  /// A name of this catalog that no other has, drawn when it was created.
  virtual Result<std::string> instance() = 0;

  // Projects

  /// Conflict: the name is taken, or the account has kProjectsOfAnAccount. NotFound: no such account.
  virtual Result<Project> add_project(const NewProject& project, const Audit& audit = {}) = 0;
  virtual Result<std::optional<Project>> project(const std::string& name) = 0;
  /// Of one account, or of all where `owner` is empty; by name.
  virtual Result<Slice<Project>> projects(const std::string& owner, const Page& page) = 0;
  /// Its versions stay. NotFound.
  virtual Status remove_project(const std::string& name, const Audit& audit = {}) = 0;
  /// One whose time has come: of another account than those that `now` polls for, if there is one, and the
  /// longest waiting of these. It is due again after `again`, should the caller die. Those of disabled
  /// accounts wait.
  virtual Result<std::optional<Project>> take_due_project(Duration again, const Polls& now) = 0;
  /// Of a link that isn't there any more: nothing happens.
  virtual Status note_poll(const Project& of, const std::string& problem, Duration next) = 0;
  /// Makes it due at once. NotFound.
  virtual Status ask_poll(const std::string& name) = 0;

  // Versions. Those that moderators hid are in no list, no search and no index, aren't tested, and have no
  // bytes; only versions() and version() have them. Those that await a review are in versions(), version()
  // and reviews() alone, too, but are tested; rejected ones aren't.

  struct Standing {
    std::string owner = {};
    std::optional<std::string> hidden = {};  ///< why
    bool has_published = true;               ///< a version that doesn't await its review and wasn't rejected
  };
  /// Of a package; nullopt: there is none.
  virtual Result<std::optional<Standing>> standing(const std::string& package) = 0;
  /// Closes the reports of the package. Its repository isn't looked at until it is shown again. NotFound.
  virtual Status hide_package(const std::string& package, const std::string& moderator,
                              const std::string& why, const Audit& audit = {}) = 0;
  /// NotFound: there is none, or it isn't hidden.
  virtual Status show_package(const std::string& package, const Audit& audit = {}) = 0;
  /// NotFound.
  virtual Status hide_version(const std::string& package, const std::string& version, const std::string& why,
                              const Audit& audit = {}) = 0;
  /// NotFound: there is none, or it isn't hidden itself.
  virtual Status show_version(const std::string& package, const std::string& version,
                              const Audit& audit = {}) = 0;

  /// Publishes it, or rejects it where there is a reason. NotFound. Conflict: it is published, or was
  /// rejected before and is to be rejected.
  virtual Status review(const std::string& package, const std::string& version,
                        const std::optional<std::string>& why_not, const Audit& audit = {}) = 0;
  /// The oldest first. Of all accounts where `owner` is empty, those that await a review and didn't fail
  /// their test; else of that account, rejected ones and those that failed, too.
  virtual Result<Slice<ReviewedVersion>> reviews(const std::string& owner, const Page& page) = 0;
  /// How many there are of all accounts.
  virtual Result<std::int64_t> count_reviews() = 0;

  /// Of all versions of a package, by the version.
  virtual Result<std::map<std::string, std::string>> commits(const std::string& package) = 0;
  /// NotFound: the project isn't linked, or its account is disabled. Conflict: it has kVersionsOfAProject.
  /// The audit log is told of what was taken.
  virtual Result<Submitted> submit(const NewVersion& version, const Audit& audit = {}) = 0;
  /// Newest first. Empty: there is no such package.
  virtual Result<std::vector<VersionBrief>> versions(const std::string& package) = 0;
  virtual Result<std::optional<Version>> version(const std::string& package, const std::string& version) = 0;
  enum class YankedBy : std::uint8_t { Author, Moderator };
  /// A text, or nothing: then there is none. NotFound: no such version. Forbidden: a moderator yanked it, and
  /// this is its author.
  virtual Status yank(const std::string& package, const std::string& version,
                      const std::optional<std::string>& why, const Audit& audit = {},
                      YankedBy by = YankedBy::Author) = 0;
  /// All of them by name, or those in which every word of `query` occurs, the best first. Where more than
  /// kMostCounted have the words, only those that have them in their name, or else in their description.
  virtual Result<Slice<Listed>> search(const std::string& query, const Narrowing& narrowing,
                                       const Page& page) = 0;
  /// Of the same query. No more than kMostCounted packages in which its words occur are counted.
  virtual Result<Facets> facets(const std::string& query, const Narrowing& narrowing) = 0;
  static constexpr int kMostCounted = 2000;
  /// Those that were taken last.
  virtual Result<std::vector<Listed>> newest(int limit) = 0;
  struct Counts {
    std::int64_t packages = 0, versions = 0, passed = 0, waiting = 0;
  };
  /// As they were at most kCountsAge ago: to count many rows takes a while.
  virtual Result<Counts> counts() = 0;
  static constexpr std::chrono::seconds kCountsAge{5};

  /// A number that grows whenever index() has another answer. It is smaller after the database went back in
  /// time, as by a restore.
  virtual Result<std::int64_t> index_revision() = 0;
  virtual Result<std::pair<std::int64_t, std::vector<IndexEntry>>> index() = 0;
  /// Of each package of which a version passed and isn't yanked the version that stands for it in lists, with
  /// index_revision(): what `mistctl search` finds. By name.
  virtual Result<std::pair<std::int64_t, std::vector<search::Entry>>> search_index() = 0;
  static constexpr std::size_t kVersionsInSearch = 20;  ///< Entry::versions, the newest
  /// Whether a version that is published has these bytes. Gone: only hidden ones have them.
  virtual Result<bool> has_blob(const std::string& digest) = 0;

  // Downloads. Version::downloads is their sum.

  /// Bytes that several versions have count for the oldest of them; those that none has don't count.
  virtual Status add_downloads(const std::vector<DownloadCount>& counts) = 0;
  virtual Result<std::vector<DownloadsOfDay>> downloads(const std::string& package, std::int64_t since) = 0;

  struct Installs {
    std::int64_t total = 0, recent = 0;  ///< recent: since the day that was asked for
  };
  /// Those that machines reported. As add_downloads.
  virtual Status add_installs(const std::vector<DownloadCount>& counts) = 0;
  virtual Result<Installs> installs(const std::string& package, std::int64_t since) = 0;

  // The queue. A job belongs to its holder for a term, and as long as that renews it; after that any worker
  // may take it, as the next attempt.

  static constexpr int kMostAttempts = 3;
  /// The death of a worker is no attempt of a version whose Pod goes on (task_store.h): what that said is
  /// kept, and the next worker reads it. But so often, the words of the Pod may be what kills workers.
  static constexpr int kMostExcused = 20;
  static constexpr std::size_t kLongestSummary = 1u << 10;  ///< bytes of Step::summary

  /// Whether jobs can be leased and leases renewed now; nothing is changed. Retryable, Forbidden: the
  /// database is away, or takes no writes.
  virtual Status check_writable() = 0;
  /// The next job: of the account that was served longest ago, its oldest, and of a package of which nothing
  /// is being tested. Of a disabled account only versions that were tested before. nullopt: there is none.
  virtual Result<std::optional<Job>> lease(const std::string& holder, Duration term) = 0;
  /// Conflict: somebody else has it, or it is over.
  virtual Status renew(const Job& job, Duration term) = 0;
  /// Of its summary kLongestSummary is kept, on one line, and of its log StepLog::kMost; controls and
  /// bidirectional marks become visible. Conflict as renew.
  virtual Status add_step(const Job& job, const Step& step) = 0;
  /// Run::nodes. Conflict as renew.
  virtual Status note_nodes(const Job& job, TestNodes nodes) = 0;
  /// Run::objects, Run::security and Run::text. Conflict as renew.
  virtual Status note_objects(const Job& job, const encoding::Value& graph, const encoding::Value& security,
                              const std::string& text) = 0;
  /// Conflict as renew.
  virtual Status finish(const Job& job, bool passed) = 0;
  /// It failed, with that as its last step. Conflict as renew.
  virtual Status give_up(const Job& job, const Step& why) = 0;
  /// It waits again, for that long at least, and this try doesn't count: the worker can't go on, for reasons
  /// of its own.
  virtual Status give_back(const Job& job, Duration rest) = 0;
  /// It waits again, for that long at least, as the next attempt. Conflict as renew.
  virtual Status retry_after(const Job& job, Duration rest) = 0;
  /// Whether this attempt of a job is some worker's, also if its lease has ended and nobody has taken it yet.
  virtual Result<bool> is_being_tested(std::int64_t job, int attempt) = 0;
  /// Tests a version again from the beginning. Until that ends, its state and its last run stay. NotFound;
  /// Conflict: it is waiting or being tested, was rejected, or can't be read.
  virtual Status test_again(const std::string& package, const std::string& version,
                            const Audit& audit = {}) = 0;
  /// The last try of the last test that ended, or else of the first test; nullopt: there was none.
  virtual Result<std::optional<Run>> last_run(const std::string& package, const std::string& version) = 0;

  // The audit log

  /// Of something that is no change of a store.
  virtual Status audit(const AuditEntry& entry) = 0;
  /// The newest first.
  virtual Result<Slice<AuditEntry>> audit_log(const AuditFilter& filter, const Page& page) = 0;
};

}  // namespace mist::catalog
