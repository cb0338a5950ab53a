#include "catalog/poller.h"

#include <algorithm>
#include <array>
#include <set>
#include <thread>

#include "base/storage_fault.h"
#include "base/text.h"
#include "config/paths.h"
#include "registry/git.h"
#include "registry/package_blob.h"
#include "registry/snapshot_store.h"

namespace mist::catalog {
namespace {

constexpr std::size_t kMostNewTags = 100;  // that one poll takes
constexpr Duration kFetchTime = std::chrono::minutes(3);
constexpr Duration kPollTime = std::chrono::minutes(5);  // of all that is fetched at once
constexpr Duration kLease = std::chrono::minutes(6);     // after which somebody else may poll the same
constexpr std::uint64_t kLargestFetch = std::uint64_t{512} << 20;
constexpr Duration kTick = std::chrono::seconds(1);

bool may_be_later(const Error& failure) {
  using enum ErrorKind;
  return failure.kind == Retryable || failure.kind == Timeout || failure.kind == Cancelled ||
         failure.kind == Internal;
}

// A failure that says nothing of the package, but of the way to it or of this machine, is tried again.
template <typename T>
Result<T> as_temporary(Result<T> result) {
  if (!result.ok()) result.error().kind = ErrorKind::Retryable;
  return result;
}

// Of what goes to the repository: it may be private for an hour, or refuse us for a while. One that is too
// large stays so.
template <typename T>
Result<T> as_reached(Result<T> result) {
  const bool refused = !result.ok() && (result.error().kind == ErrorKind::Forbidden ||
                                        result.error().kind == ErrorKind::NotFound);
  return refused ? as_temporary(std::move(result)) : result;
}

std::string words_of(const Error& failure) {
  if (is_storage_fault(failure)) return "the catalog can't keep it now, and tries again later";
  std::string text =
      failure.where ? fmt::format("{}: {}", failure.where->text(), failure.to_line()) : failure.to_line();
  if (!failure.hint.empty()) text += fmt::format("\n{}", failure.hint);
  return text;
}

Error moved(const std::string& tag, const std::string& package, const std::string& version) {
  return error(ErrorKind::Conflict, "the tag {} was moved, and {} {} stays as it was published", tag, package,
               version)
      .with_hint("a version never changes: push the change with another tag");
}

Error no_room(const std::string& package, const std::string& tag, std::int64_t most) {
  return error(ErrorKind::Conflict, "the new tag {} and older ones aren't taken: {} may have {} versions",
               tag, package, most)
      .with_hint(std::string(kHintOfAFullProject));
}

using TaggedVersions = std::span<const std::pair<encoding::SemVer, RemoteTag>>;

// How many of them, the oldest, are left out so that a package has no more than `most` versions.
std::size_t count_without_room(TaggedVersions versions, const std::map<std::string, std::string>& known,
                               std::int64_t most) {
  std::set<std::string> taken;  // a version may have two tags
  for (; !versions.empty(); versions = versions.first(versions.size() - 1)) {
    const std::string number = versions.back().first.to_string();
    if (known.contains(number) || taken.contains(number)) continue;
    if (std::ssize(known) + std::ssize(taken) >= most) break;
    taken.insert(number);
  }
  return versions.size();
}

// The module of the project's directory, or else the directory; or the file that the project names.
Result<registry::Located> locate(const registry::PackageIndex& index, const Project& project,
                                 const encoding::SemVer& version) {
  for (const std::string& place : module_places(project.path, project.name, version))
    if (index.entry_at(place) != nullptr) return index.find_path(place);
  return index.find_path(project.path);
}

// Those in a module's directory that say something of it. Links are none of them.
Result<package::Files> files_beside(const registry::SnapshotStore& snapshots,
                                    const registry::Snapshot& snapshot, const registry::PackageIndex& index,
                                    const std::string& module, const Context& context) {
  const std::string directory = Path(module).parent_path().string();
  package::Files files;
  for (const std::string_view name : kNamesBesideModules) {
    const std::string path = directory.empty() ? std::string(name) : fmt::format("{}/{}", directory, name);
    const registry::TreeEntry* const entry = index.entry_at(path);
    if (entry == nullptr || entry->type != registry::EntryType::File) continue;
    MIST_TRY(std::string bytes, snapshots.read_file(snapshot, *entry, context));
    files.emplace(name, std::move(bytes));
  }
  return files;
}

}  // namespace

Result<registry::GitUrl> repository_url(const std::string& text, Repositories allowed) {
  MIST_TRY(registry::GitUrl url, registry::GitUrl::parse(text, "/"));
  if (url.display() != url.text())
    return error(ErrorKind::Invalid, "the address of a repository may carry no credentials: {}",
                 url.display())
        .with_hint("a catalog takes only what everybody can read");
  if (allowed == Repositories::Public && url.transport() != registry::GitUrl::Transport::Https)
    return error(ErrorKind::Forbidden, "{} is not a repository of the Internet",
                 escape_controls(url.display()))
        .with_hint("use its https:// address");
  return url;
}

Result<ProcessResult> IsolatedGit::run(const Command& command, const Context& context) {
  Command tamed = command;
  // A thread's stack and arena are addresses; a large file goes through in pieces.
  constexpr std::array<std::string_view, 4> kSmall{"-c", "pack.threads=1", "-c", "core.bigFileThreshold=32m"};
  tamed.arguments.insert(tamed.arguments.begin(), kSmall.begin(), kSmall.end());
  tamed.env["HOME"] = home_.string();
  tamed.env["XDG_CONFIG_HOME"] = home_.string();
  tamed.env["GIT_CONFIG_NOSYSTEM"] = "1";
  tamed.env["GIT_CONFIG_GLOBAL"] = "/dev/null";
  tamed.env["GIT_CONFIG_SYSTEM"] = "/dev/null";
  tamed.env["GIT_ASKPASS"] = "/bin/false";
  tamed.env["SSH_ASKPASS"] = "/bin/false";
  for (const std::string_view name : {"GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "SSH_AUTH_SOCK", "GIT_SSH",
                                      "GIT_SSH_COMMAND", "GIT_PROXY_COMMAND"})
    tamed.env[std::string(name)] = std::nullopt;
  if (proxy_ == GitProxy::None)
    for (const std::string_view name :
         {"http_proxy", "https_proxy", "HTTPS_PROXY", "HTTP_PROXY", "all_proxy", "ALL_PROXY"})
      tamed.env[std::string(name)] = std::nullopt;
  if (tamed.file_limit) tamed.file_limit = std::min(*tamed.file_limit, kLargestFetch);
  return processes_.run(tamed, context);
}

Status IsolatedGit::check_keeps_addresses(const Context& context) {
  Status checked = registry::check_git_keeps_addresses(*this, context);
  return !checked.ok() && checked.error().kind == ErrorKind::NotFound ? Status() : checked;
}

void Poller::wake() {
  const std::scoped_lock lock(mutex_);
  wake_ = true;
  woken_.notify_all();
}

Status Poller::run(const Context& context) {
  std::vector<std::jthread> others;
  for (int i = 1; i < dependencies_.most_polls; ++i) others.emplace_back([&] { poll_due_projects(context); });
  poll_due_projects(context);
  return {};
}

void Poller::poll_due_projects(const Context& context) {
  while (const std::optional<Project> due = next_due_project(context)) {
    const Status polled = poll(*due, context);
    note_end(*due);
    if (!polled.ok()) dependencies_.events.warn(fmt::format("{}: {}", due->name, polled.error().to_line()));
  }
}

// Nothing when the context ends.
std::optional<Project> Poller::next_due_project(const Context& context) {
  const std::scoped_lock turn(looking_);
  while (context.check().ok()) {
    Result<std::optional<Project>> due = take_due_project();
    if (!due.ok()) dependencies_.events.warn(fmt::format("polling: {}", due.error().to_line()));
    if (due.ok() && *due) return *std::move(due);
    std::unique_lock lock(mutex_);
    woken_.wait_for(lock, context.stop(), kTick, [&] { return wake_; });
    wake_ = false;
  }
  return {};
}

Result<std::optional<Project>> Poller::take_due_project() {
  Polls polls{.interval = dependencies_.interval};
  {
    const std::scoped_lock lock(mutex_);
    polls.others_only = std::ssize(polled_) + 1 >= dependencies_.most_polls;
    for (const Project& each : polled_) {
      polls.projects.push_back(each.name);
      polls.owners.push_back(each.owner);
    }
  }
  // Should this process die, it is due again some minutes later.
  MIST_TRY(std::optional<Project> due, dependencies_.store.take_due_project(kLease, polls));
  if (!due) return due;
  const std::scoped_lock lock(mutex_);
  polled_.push_back(*due);
  return due;
}

void Poller::note_end(const Project& project) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(polled_, [&](const Project& each) { return each.name == project.name; });
}

Status Poller::poll(const Project& project, const Context& context) {
  Status done = take_tags(project, context);
  MIST_TRY_VOID(context.check());
  MIST_TRY_VOID(dependencies_.store.note_poll(project, done.ok() ? std::string() : words_of(done.error()),
                                              dependencies_.interval));
  return done;
}

Status Poller::take_tags(const Project& project, const Context& context) {
  MIST_TRY(registry::GitUrl url, repository_url(project.url, dependencies_.allowed));
  // At addresses that were judged just now, and followed to no others.
  if (dependencies_.allowed == Repositories::Public) {
    MIST_TRY(url, url.limited_to_public(dependencies_.resolve));
  } else {
    url = url.without_redirects();
  }
  const registry::Git git(dependencies_.processes);
  const Context bounded = context.with_timeout(kPollTime);
  MIST_TRY(const std::string listing,
           git.run({.arguments = {"ls-remote", "--quiet", "--tags", "--", url.text()},
                    .repository = {},
                    .remote = &url,
                    .input = {},
                    .output_limit = std::uint64_t{8} << 20},
                   bounded.with_timeout(kFetchTime)));
  std::vector<RemoteTag> tags = parse_remote_tags(listing);
  std::vector<std::pair<encoding::SemVer, RemoteTag>> versions;
  for (RemoteTag& tag : tags)
    if (auto version = version_of_tag(tag.name, project.name))
      versions.emplace_back(*std::move(version), std::move(tag));
  std::ranges::sort(versions, {}, [](const auto& each) { return each.first; });
  if (std::ssize(versions) > dependencies_.most_tags)
    versions.erase(versions.begin(), versions.end() - dependencies_.most_tags);
  return take_new(project, url, versions, bounded);
}

// Goes on after a version that can't be taken; gives the first problem. Of more than there is room for,
// nothing is fetched: its bytes would stay though no version has them. That is told last: a full package
// stays full, and would hide everything else.
Status Poller::take_new(const Project& project, const registry::GitUrl& url, TaggedVersions versions,
                        const Context& context) {
  MIST_TRY(auto known, dependencies_.store.commits(project.name));
  Status problem;
  const std::size_t left_out = count_without_room(versions, known, dependencies_.most_versions);
  std::size_t fetched = 0;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const auto& [version, tag] = versions[i];
    const std::string number = version.to_string();
    const auto stored = known.find(number);
    if (stored != known.end() && stored->second == tag.commit) continue;
    Status done;
    if (stored != known.end()) {
      done = moved(tag.name, project.name, number);
    } else {
      if (i < left_out) continue;
      if (fetched++ == kMostNewTags) break;
      done = take(project, url, tag.name, tag.commit, context);
      if (done.ok()) known.emplace(number, tag.commit);
    }
    if (problem.ok()) problem = std::move(done);
    // The rest is looked at the next time.
    if (!context.check().ok()) break;
  }
  if (problem.ok() && left_out > 0)
    problem = no_room(project.name, versions[left_out - 1].second.name, dependencies_.most_versions);
  return problem;
}

Status Poller::take(const Project& project, const registry::GitUrl& url, const std::string& tag,
                    const std::string& commit, const Context& context) {
  MIST_TRY(const NewVersion version, read(project, url, tag, commit, context));
  MIST_TRY(const Submitted submitted,
           dependencies_.store.submit(
               version, AuditEntry{.who = project.owner,
                                   .what = "submit",
                                   .subject = fmt::format("{} {}", project.name, version.version)}));
  if (submitted == Submitted::Changed) return moved(tag, project.name, version.version);
  if (submitted == Submitted::Known) return {};
  dependencies_.events.info(
      fmt::format("{} {}: taken at {}", project.name, version.version, commit.substr(0, 12)));
  return {};
}

Result<NewVersion> Poller::read(const Project& project, const registry::GitUrl& url, const std::string& tag,
                                const std::string& commit, const Context& context) {
  const auto version = version_of_tag(tag, project.name);
  NewVersion result{.package = project.name,
                    .version = version->to_string(),
                    .tag = tag,
                    .commit = commit,
                    .digest = {},
                    .facts = {},
                    .readme = {},
                    .owner = project.owner,
                    .url = project.url,
                    .review = dependencies_.review};
  const WallTime began = dependencies_.clock.now();
  const auto admitted = [&]() -> Result<Admitted> {
    const Path directory = dependencies_.directory / project.name;
    MIST_TRY_VOID(as_temporary(config::make_private_directory(dependencies_.files, directory)));
    const registry::Git git(dependencies_.processes);
    registry::SnapshotStore snapshots(dependencies_.files, git, directory, url, tag);
    const Context bounded = context.with_timeout(kFetchTime);
    MIST_TRY(
        const registry::SnapshotStore::Updated updated,
        as_reached(snapshots.update(bounded, false, [](const registry::Snapshot&) { return Status(); })));
    if (updated.snapshot.commit != commit)
      return error(ErrorKind::Retryable, "the tag {} was moved while it was read", tag);
    MIST_TRY(const registry::PackageIndex index, snapshots.index(updated.snapshot));
    MIST_TRY(const registry::Located located, locate(index, project, *version));
    MIST_TRY(const registry::PackageContent content,
             as_reached(snapshots.read(updated.snapshot, located, bounded)));
    Result<Admitted> read_facts = Admitted();
    if (const auto* const module = std::get_if<registry::PackageModule>(&content)) {
      MIST_TRY(package::Files beside,
               as_reached(files_beside(snapshots, updated.snapshot, index, located.path, bounded)));
      read_facts = admit_module({.module = *module, .path = located.path, .beside = std::move(beside)},
                                project.name, *version);
    } else {
      read_facts = admit(std::get<registry::PackageTree>(content), project.name, *version);
    }
    if (!read_facts.ok()) return read_facts;
    MIST_TRY(const std::string blob, registry::blob_of(content));
    MIST_TRY(const crypto::Digest digest, as_temporary(dependencies_.blobs.put(blob)));
    result.digest = digest.str();
    return read_facts;
  }();
  // Large repositories aren't kept: the bytes of the package are.
  (void)dependencies_.files.remove_all(dependencies_.directory / project.name);
  if (!admitted.ok() && may_be_later(admitted.error())) return admitted.error();
  const Duration elapsed = dependencies_.clock.now() - began;
  if (admitted.ok()) {
    result.facts = admitted->facts;
    result.readme = admitted->readme;
  } else {
    result.why_not = Step{.name = "read",
                          .state = StepState::Failed,
                          .summary = admitted.error().message,
                          .log = words_of(admitted.error()),
                          .began = began,
                          .elapsed = elapsed};
  }
  return result;
}

}  // namespace mist::catalog
