#include "registry/snapshot_store.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <iterator>
#include <limits>
#include <utility>

#include "base/cache_bound.h"
#include "base/text.h"
#include "config/paths.h"
#include "registry/fetch_turn.h"

namespace mist::registry {
namespace {

constexpr std::string_view kTip = "refs/mist/tip";
constexpr std::string_view kUse = "use";
constexpr std::string_view kIncoming = "incoming-";
constexpr std::string_view kSnapshot = "snapshot-";
constexpr std::string_view kLfsPointer = "version https://git-lfs.github.com/spec/";
constexpr std::chrono::minutes kNetworkTimeout{5};
constexpr std::size_t kBatch = 1000;            // files that one git reads
constexpr std::size_t kFetchBatch = 500;        // contents that one fetch brings
constexpr std::size_t kSplit = 8;               // of a batch that is too much
constexpr std::size_t kMostBranchesNamed = 10;  // in an error
// Of one package: what can't be compressed is a little larger in a pack.
constexpr std::uint64_t kMostOfPackage = kMaxPackageBytes + kMaxPackageBytes / 8;
// The list of files of a registry with half a million of them.
constexpr std::uint64_t kMaxListing = std::uint64_t{64} << 20;

Path repository_of(const Path& snapshot) { return snapshot / "repo.git"; }

// With the list of its files.
std::uint64_t snapshot_bytes(const Path& repository) { return bytes_below(repository.parent_path()); }

std::string config_quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

struct RemoteRef {
  std::string_view commit, name;
};

std::vector<RemoteRef> parse_remote_refs(std::string_view text) {
  std::vector<RemoteRef> refs;
  for (const std::string_view line : split(text, '\n')) {
    const auto tab = line.find('\t');
    if (tab != std::string_view::npos && is_commit(line.substr(0, tab)))
      refs.push_back({line.substr(0, tab), line.substr(tab + 1)});
  }
  return refs;
}

Error too_large(std::string_view path) {
  return error(ErrorKind::Invalid, "{} is larger than {} MiB, the most that a package may be",
               escape_controls(path), kMaxPackageBytes >> 20)
      .with_hint("ask the registry's owner for a smaller package");
}

Status check_content(std::string_view bytes, std::string_view path) {
  if (!bytes.starts_with(kLfsPointer)) return {};
  return error(ErrorKind::Invalid, "{} is a pointer of Git LFS, not the file itself", escape_controls(path))
      .with_hint("ask the registry's owner to commit the file without LFS");
}

Status check_type(const TreeEntry& entry) {
  if (entry.type == EntryType::File) return {};
  return error(ErrorKind::Invalid, "{} is a {}, and those are not followed", escape_controls(entry.path),
               entry.type == EntryType::Symlink ? "symbolic link" : "submodule")
      .with_hint("ask the registry's owner to publish the files themselves");
}

Result<std::string> checked(const TreeEntry& entry, std::string bytes, std::uint64_t most_bytes) {
  if (bytes.size() > most_bytes)
    return error(ErrorKind::Invalid, "{} has more than {} bytes, the most that it may have",
                 escape_controls(entry.path), most_bytes);
  MIST_TRY_VOID(check_content(bytes, entry.path));
  return bytes;
}

/// Takes the answers of `git cat-file --batch` apart: "<object> blob <size>\n<bytes>\n".
class BatchReader {
 public:
  explicit BatchReader(std::string_view text) : text_(text) {}

  Result<std::string_view> next(const TreeEntry& wanted) {
    const auto end = text_.find('\n');
    const auto words = split(text_.substr(0, end), ' ');
    std::size_t size = 0;
    const bool is_blob = end != std::string_view::npos && words.size() == 3 && words[0] == wanted.object &&
                         words[1] == "blob" && to_number(words[2], size) && size < text_.size() - end - 1;
    if (!is_blob)
      return error(ErrorKind::Internal, "the local copy of {} is incomplete", escape_controls(wanted.path))
          .with_hint("mistctl registry update fetches it again");
    const std::string_view bytes = text_.substr(end + 1, size);
    text_.remove_prefix(end + 1 + size + 1);
    return bytes;
  }

 private:
  static bool to_number(std::string_view text, std::size_t& number) {
    const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    return failure == std::errc() && stop == text.data() + text.size();
  }
  std::string_view text_;
};

// Unless they are read or updated.
bool remove_snapshots(FileSystem& files, const Path& store) {
  const auto lock = FileLock::try_acquire(store / "lock");
  if (!lock || !*lock) return false;
  {
    const auto unread = FileLock::try_acquire(store / kUse);
    if (!unread || !*unread) return false;
    // First what leads to the snapshots, so that nobody begins to read one.
    (void)files.remove(store / "current");
  }
  // The locks stay: who waits for one holds that very file.
  if (const auto left = files.list(store))
    for (const DirectoryEntry& each : *left)
      if (each.name.starts_with(kIncoming) || each.name.starts_with(kSnapshot))
        (void)files.remove_all(store / each.name);
  return true;
}

}  // namespace

SnapshotStore::SnapshotStore(FileSystem& files, const Git& git, Path directory, GitUrl url, std::string ref)
    : files_(files),
      git_(git),
      directory_(std::move(directory)),
      url_(std::move(url)),
      ref_(std::move(ref)) {}

// bound() has it for as long as it takes to remove one file.
std::shared_ptr<const FileLock> SnapshotStore::in_use() const {
  Result<FileLock> lock = FileLock::share(directory_ / kUse, Context().with_timeout(std::chrono::seconds(1)));
  return lock ? std::make_shared<const FileLock>(*std::move(lock)) : nullptr;
}

Result<std::optional<Snapshot>> SnapshotStore::current() const {
  // First of all: what is read from now on stays.
  std::shared_ptr<const FileLock> use = in_use();
  Result<std::string> text = files_.read(directory_ / "current", 4096);
  if (!text) {
    if (text.error().kind == ErrorKind::NotFound) return std::optional<Snapshot>();
    return std::move(text).error();
  }
  const auto words = split(trim(*text), ' ');
  // Anything else than what we write counts as nothing: the next update replaces it.
  if (words.size() != 2 || !words[0].starts_with(kSnapshot) || words[0].find('/') != std::string_view::npos ||
      !is_commit(words[1]))
    return std::optional<Snapshot>();
  Snapshot snapshot{directory_ / words[0], std::string(words[1]), std::move(use)};
  if (!files_.exists(snapshot.directory / "tree")) return std::optional<Snapshot>();
  mark_used(directory_ / "current");
  return std::optional(std::move(snapshot));
}

Result<SnapshotStore::Updated> SnapshotStore::update(const Context& caller, bool force,
                                                     const std::function<Status(const Snapshot&)>& accept) {
  if (stays_here_) return *stays_here_;
  const Context context = caller.with_timeout(kNetworkTimeout);
  MIST_TRY_VOID(config::make_private_directory(files_, directory_));
  MIST_TRY(FileLock lock, FileLock::acquire(directory_ / "lock", context));
  MIST_TRY(std::optional<Snapshot> before, current());
  MIST_TRY(const RemoteTip tip, remote_tip(context));
  Updated result;
  if (before) result.before = before->commit;
  if (before && before->commit == tip.commit && !force) {
    MIST_TRY_VOID(accept(*before));
    result.snapshot = *std::move(before);
    return result;
  }
  remove_leftovers(before, {});

  // Unique without a random source: only the holder of the lock makes these names.
  const std::string unique =
      fmt::format("{}-{}", ::getpid(), std::chrono::system_clock::now().time_since_epoch().count());
  const Path incoming = directory_ / fmt::format("{}{}", kIncoming, unique);
  MIST_TRY(std::string commit, fetch_into(incoming, tip, caller));
  const auto abandon = [&](Error failure) {
    (void)files_.remove_all(incoming);  // else the next update does it
    return failure;
  };
  if (Status accepted = accept({incoming, commit}); !accepted) return abandon(std::move(accepted).error());

  const std::string name = fmt::format("{}{}-{}", kSnapshot, commit.substr(0, 12), unique);
  if (Status renamed = files_.rename(incoming, directory_ / name); !renamed)
    return abandon(std::move(renamed).error());
  MIST_TRY_VOID(files_.write(directory_ / "current", fmt::format("{} {}\n", name, commit),
                             {.mode = 0600, .durable = true, .exclusive = false}));
  remove_leftovers(before, name);
  result.snapshot = {directory_ / name, std::move(commit), in_use()};
  return result;
}

Result<SnapshotStore::RemoteTip> SnapshotStore::remote_tip(const Context& context) const {
  if (is_commit(ref_)) {
    // Nothing has to be asked. But a server that doesn't answer should keep no turn from others.
    if (git_.limits().snapshots)
      MIST_TRY_VOID(git_.run({.arguments = {"ls-remote", "--quiet", "--", url_.text(), "HEAD"},
                              .repository = {},
                              .remote = &url_,
                              .input = {}},
                             context));
    return RemoteTip{ref_, ref_};
  }
  GitCall call{.arguments = {"ls-remote", "--quiet", "--", url_.text()},
               .repository = {},
               .remote = &url_,
               .input = {},
               .output_limit = std::uint64_t{1} << 20};
  // Peeled tags first: git's own order is tags before branches.
  std::vector<std::string> names{"HEAD"};
  if (!ref_.empty())
    names = {fmt::format("refs/tags/{}^{{}}", ref_), fmt::format("refs/tags/{}", ref_),
             fmt::format("refs/heads/{}", ref_)};
  call.arguments.insert(call.arguments.end(), names.begin(), names.end());
  MIST_TRY(const std::string text, git_.run(call, context));
  const std::vector<RemoteRef> refs = parse_remote_refs(text);
  for (const std::string& name : names) {
    const auto found = std::ranges::find(refs, name, &RemoteRef::name);
    if (found == refs.end()) continue;
    const std::string_view fetched =
        found->name.ends_with("^{}") ? found->name.substr(0, found->name.size() - 3) : found->name;
    return RemoteTip{std::string(found->commit), std::string(fetched)};
  }
  if (ref_.empty()) return only_branch(context);
  return error(ErrorKind::NotFound, "the repository {} has no branch or tag named {}", url_.display(), ref_)
      .with_hint("name a branch, a tag or a full commit after ?ref=");
}

// HEAD names a branch that isn't there, as after a server was set up for "master" and got "main" pushed.
Result<SnapshotStore::RemoteTip> SnapshotStore::only_branch(const Context& context) const {
  MIST_TRY(const std::string text,
           git_.run({.arguments = {"ls-remote", "--quiet", "--heads", "--", url_.text()},
                     .repository = {},
                     .remote = &url_,
                     .input = {},
                     .output_limit = std::uint64_t{1} << 20},
                    context));
  const std::vector<RemoteRef> branches = parse_remote_refs(text);
  if (branches.empty())
    return error(ErrorKind::NotFound, "the repository {} has no commit yet", url_.display())
        .with_hint("push a package into it first");
  if (branches.size() == 1)
    return RemoteTip{std::string(branches.front().commit), std::string(branches.front().name)};
  std::vector<std::string> names;
  for (const RemoteRef& branch : branches)
    names.push_back(escape_controls(branch.name.substr(std::string_view("refs/heads/").size())));
  if (names.size() > kMostBranchesNamed) {
    names.resize(kMostBranchesNamed);
    names.emplace_back("…");
  }
  return error(ErrorKind::NotFound,
               "the repository {} has no default branch: its HEAD names one that is not there",
               url_.display())
      .with_because(fmt::format("its branches are {}", join(names, ", ")))
      .with_hint("name a branch, a tag or a full commit after ?ref=");
}

// The wait for others has a time of its own.
Result<std::string> SnapshotStore::fetch_into(const Path& incoming, const RemoteTip& tip,
                                              const Context& caller) const {
  MIST_TRY(const FetchTurn turn,
           FetchTurn::take(files_, git_.limits(), directory_, caller.with_timeout(kNetworkTimeout)));
  Result<std::string> commit = fetch_tip(incoming, tip, caller.with_timeout(kNetworkTimeout));
  if (!commit) (void)files_.remove_all(incoming);  // else the next update does it
  return commit;
}

Result<std::string> SnapshotStore::fetch_tip(const Path& incoming, const RemoteTip& tip,
                                             const Context& context) const {
  const Path repository = repository_of(incoming);
  MIST_TRY_VOID(config::make_private_directory(files_, incoming));
  const auto local = [&](std::vector<std::string> arguments) {
    return git_.run({.arguments = std::move(arguments),
                     .repository = repository,
                     .remote = nullptr,
                     .input = {},
                     .output_limit = kMaxListing},
                    context);
  };
  MIST_TRY_VOID(local({"init", "--quiet", "--bare", "--template=",
                       fmt::format("--object-format={}", tip.commit.size() == 64 ? "sha256" : "sha1")}));
  // The address goes into a file that only we can read, not onto a command line that everybody can.
  MIST_TRY(std::string settings, files_.read(repository / "config", 1 << 20));
  settings += fmt::format("[remote \"origin\"]\n\turl = {}\n", config_quoted(url_.text()));
  MIST_TRY_VOID(
      files_.write(repository / "config", settings, {.mode = 0600, .durable = false, .exclusive = false}));
  // Contents stay away where the server knows filters; a module is fetched when it is first read.
  MIST_TRY_VOID(git_.run({.arguments = {"fetch", "--quiet", "--depth=1", "--filter=blob:none", "--no-tags",
                                        "--no-write-fetch-head", "--no-recurse-submodules",
                                        "--end-of-options", "origin", fmt::format("+{}:{}", tip.name, kTip)},
                          .repository = repository,
                          .remote = &url_,
                          .input = {}},
                         context));
  MIST_TRY(const std::string parsed,
           local({"rev-parse", "--verify", "--end-of-options", fmt::format("{}^{{commit}}", kTip)}));
  std::string commit(trim(parsed));
  if (!is_commit(commit))
    return error(ErrorKind::Internal, "git named '{}' as a commit", escape_controls(commit));
  MIST_TRY(const std::string listing,
           local({"ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit}));
  // Each file has that limit: the pack, and its index beside it.
  if (snapshot_bytes(repository) + listing.size() > most_in_snapshot()) return fetch_too_large(url_);
  MIST_TRY_VOID(parse_tree_listing(listing));
  MIST_TRY_VOID(
      files_.write(incoming / "tree", listing, {.mode = 0600, .durable = true, .exclusive = false}));
  return commit;
}

void SnapshotStore::remove_leftovers(const std::optional<Snapshot>& keep, const std::string& keep_too) const {
  const Result<std::vector<DirectoryEntry>> entries = files_.list(directory_);
  if (!entries) return;
  for (const DirectoryEntry& entry : *entries) {
    if (!entry.name.starts_with(kIncoming) && !entry.name.starts_with(kSnapshot)) continue;
    // The one before stays for readers that are at work.
    if (entry.name == keep_too || (keep && keep->directory.filename() == entry.name)) continue;
    (void)files_.remove_all(directory_ / entry.name);  // what can't be removed now, goes with the next update
  }
}

std::uint64_t SnapshotStore::bound(FileSystem& files, const Path& registries, std::uint64_t limit) {
  const Result<std::vector<DirectoryEntry>> stores = files.list(registries);
  if (!stores) return 0;
  std::vector<CacheEntry> entries;
  std::uint64_t total = 0;
  for (const DirectoryEntry& store : *stores) {
    if (!store.is_directory || store.is_symlink) continue;
    const Path directory = registries / store.name;
    std::error_code missing;
    // Without `current`: what a killed first update or a killed removal left.
    auto used = std::filesystem::last_write_time(directory / "current", missing);
    if (missing) used = std::filesystem::file_time_type::min();
    entries.push_back({directory, bytes_below(directory), used});
    total += entries.back().bytes;
  }
  if (total <= limit) return total;
  // As surplus(), but for one that stays the next one goes.
  std::ranges::stable_sort(entries, {}, &CacheEntry::used);
  for (const CacheEntry& entry : entries) {
    if (total <= limit / 10 * 9) break;
    if (remove_snapshots(files, entry.path)) total -= entry.bytes;
  }
  return total;
}

Result<PackageIndex> SnapshotStore::index(const Snapshot& snapshot) const {
  MIST_TRY(const std::string listing, files_.read(snapshot.directory / "tree", kMaxListing));
  MIST_TRY(std::vector<TreeEntry> entries, parse_tree_listing(listing));
  return PackageIndex(std::move(entries));
}

Result<PackageContent> SnapshotStore::read(const Snapshot& snapshot, const Located& located,
                                           const Context& context) const {
  if (located.is_tree) {
    MIST_TRY(PackageTree tree, read_tree(snapshot, located, context));
    return PackageContent(std::move(tree));
  }
  MIST_TRY(std::string bytes, read_file(snapshot, located.entries.front(), context));
  // A single manifest is a tree of one file, as it is on the local disk.
  if (!located.path.ends_with(".wasm")) {
    TreeBuilder builder(located.path);
    MIST_TRY_VOID(builder.add(Path(located.path).filename().string(), std::move(bytes)));
    MIST_TRY(PackageTree tree, std::move(builder).finish());
    return PackageContent(std::move(tree));
  }
  return PackageContent(PackageModule{std::move(bytes)});
}

Result<std::string> SnapshotStore::read_file(const Snapshot& snapshot, const TreeEntry& entry,
                                             const Context& context) const {
  const Path repository = repository_of(snapshot.directory);
  MIST_TRY_VOID(fetch_missing_package(repository, {entry.object}, entry.path, context));
  Result<std::string> bytes = git_.run({.arguments = {"cat-file", "blob", entry.object},
                                        .repository = repository,
                                        .remote = nullptr,
                                        .input = {},
                                        .output_limit = kMaxPackageBytes},
                                       context.with_timeout(kNetworkTimeout));
  if (!bytes && bytes.error().kind == ErrorKind::Invalid)
    return too_large(entry.path).caused_by(std::move(bytes).error());
  if (!bytes) return bytes;
  MIST_TRY_VOID(check_content(*bytes, entry.path));
  return bytes;
}

Result<PackageTree> SnapshotStore::read_tree(const Snapshot& snapshot, const Located& located,
                                             const Context& context) const {
  const std::string place = located.path.empty() ? url_.display() : escape_controls(located.path);
  if (located.entries.size() > kMaxPackageFiles)
    return error(ErrorKind::Invalid, "{} has more than {} files", place, kMaxPackageFiles)
        .with_hint("name the directory of one package, after '//'");
  std::vector<std::string> objects;
  std::vector<const TreeEntry*> wanted;
  for (const TreeEntry& entry : located.entries) {
    std::string_view name = entry.path;
    if (!located.path.empty()) name.remove_prefix(located.path.size() + 1);
    if (!located.chosen && is_bookkeeping(name)) continue;
    MIST_TRY_VOID(check_type(entry));
    objects.push_back(entry.object);
    wanted.push_back(&entry);
  }
  if (wanted.empty()) return TreeBuilder(place).finish();
  const Path repository = repository_of(snapshot.directory);
  MIST_TRY_VOID(fetch_missing_package(repository, std::move(objects), place, context));
  Result<std::vector<std::string>> contents = read_objects(repository, wanted, context);
  if (!contents && contents.error().kind == ErrorKind::Invalid)
    return too_large(place).caused_by(std::move(contents).error());
  if (!contents) return std::move(contents).error();
  TreeBuilder builder(place);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::string& path = wanted[i]->path;
    MIST_TRY_VOID(check_content((*contents)[i], path));
    MIST_TRY_VOID(builder.add(path.substr(located.path.empty() ? 0 : located.path.size() + 1),
                              std::move((*contents)[i])));
  }
  return std::move(builder).finish();
}

// Invalid: together they are larger than a package may be. They are all here: git doesn't fetch them itself,
// past all bounds.
Result<std::vector<std::string>> SnapshotStore::read_objects(const Path& repository,
                                                             std::span<const TreeEntry* const> wanted,
                                                             const Context& context) const {
  std::string objects;
  for (const TreeEntry* const entry : wanted) objects += entry->object + '\n';
  MIST_TRY(const std::string answers, git_.run({.arguments = {"cat-file", "--batch"},
                                                .repository = repository,
                                                .remote = nullptr,
                                                .input = objects,
                                                .output_limit = kMaxPackageBytes + 128 * kMaxPackageFiles},
                                               context.with_timeout(kNetworkTimeout)));
  BatchReader reader(answers);
  std::vector<std::string> contents;
  contents.reserve(wanted.size());
  for (const TreeEntry* const entry : wanted) {
    MIST_TRY(const std::string_view bytes, reader.next(*entry));
    contents.emplace_back(bytes);
  }
  return contents;
}

// Too much for one answer is halved, until what is left is the one file that is too large.
Result<std::vector<Result<std::string>>> SnapshotStore::read_batch(const Path& repository,
                                                                   std::span<const TreeEntry* const> wanted,
                                                                   std::uint64_t most_bytes,
                                                                   const Context& context) const {
  std::vector<Result<std::string>> texts;
  auto contents = read_objects(repository, wanted, context);
  if (contents) {
    for (std::size_t i = 0; i < wanted.size(); ++i)
      texts.push_back(checked(*wanted[i], std::move((*contents)[i]), most_bytes));
    return texts;
  }
  if (contents.error().kind != ErrorKind::Invalid) return std::move(contents).error();
  if (wanted.size() == 1) {
    texts.emplace_back(too_large(wanted.front()->path).caused_by(std::move(contents).error()));
    return texts;
  }
  MIST_TRY(texts, read_batch(repository, wanted.first(wanted.size() / 2), most_bytes, context));
  MIST_TRY(auto rest, read_batch(repository, wanted.subspan(wanted.size() / 2), most_bytes, context));
  texts.insert(texts.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
  return texts;
}

Result<std::vector<Result<std::string>>> SnapshotStore::read_files(const Snapshot& snapshot,
                                                                   std::span<const TreeEntry> entries,
                                                                   std::uint64_t most_bytes,
                                                                   const Context& context) const {
  const Path repository = repository_of(snapshot.directory);
  std::vector<std::string> objects;
  std::vector<const TreeEntry*> wanted;
  for (const TreeEntry& entry : entries) {
    if (entry.type != EntryType::File) continue;
    objects.push_back(entry.object);
    wanted.push_back(&entry);
  }
  std::vector<Result<std::string>> read;
  if (!wanted.empty())
    MIST_TRY_VOID(fetch_missing(repository, std::move(objects), context,
                                [&](std::span<const std::string> missing, const Context& limited) {
                                  return fetch_parts({repository, most_in_snapshot(), false}, missing,
                                                     kFetchBatch, limited);
                                }));
  for (std::span<const TreeEntry* const> rest = wanted; !rest.empty();) {
    const std::size_t count = std::min(rest.size(), kBatch);
    MIST_TRY(auto texts, read_batch(repository, rest.first(count), most_bytes, context));
    read.insert(read.end(), std::make_move_iterator(texts.begin()), std::make_move_iterator(texts.end()));
    rest = rest.subspan(count);
  }
  std::vector<Result<std::string>> all;
  auto next = read.begin();
  for (const TreeEntry& entry : entries) {
    if (Status file = check_type(entry); !file)
      all.emplace_back(std::move(file).error());
    else
      all.push_back(std::move(*next++));
  }
  return all;
}

Status SnapshotStore::fetch_contents(const Snapshot& snapshot, std::span<const TreeEntry> entries,
                                     const Context& context) const {
  const Path repository = repository_of(snapshot.directory);
  MIST_TRY(const bool partial, is_partial(repository));
  if (!partial) return {};
  std::vector<std::string> objects;
  for (const TreeEntry& each : entries)
    if (each.type == EntryType::File) objects.push_back(each.object);
  MIST_TRY(const FileLock lock, lock_contents(repository, context));
  keep_missing(objects, repository, context);
  reuse_contents(repository, objects, context);
  if (stays_here_ && !objects.empty()) return *stays_here_;
  return fetch_parts({repository, most_in_snapshot(), false}, objects, kFetchBatch, context);
}

// Copied into one pack, not shared: the snapshot before goes, and what nobody needs any more goes with it.
// Those that are still missing stay in `objects`. A failure doesn't count: they are fetched then.
void SnapshotStore::reuse_contents(const Path& repository, std::vector<std::string>& objects,
                                   const Context& context) const {
  if (objects.empty()) return;
  const Result<std::optional<Snapshot>> before = current();
  if (!before || !*before || repository_of((*before)->directory) == repository) return;
  const Path old = repository_of((*before)->directory);
  const Result<std::set<std::string>> there = objects_in(old, context);
  if (!there) return;
  std::string reused;
  for (const std::string& each : objects)
    if (there->contains(each)) reused += each + '\n';
  if (reused.empty()) return;
  // Without a search for deltas, which takes long and saves little.
  const auto copied = git_.run(
      {.arguments = {"pack-objects", "--quiet", "--window=0", (repository / "objects/pack/pack").string()},
       .repository = old,
       .remote = nullptr,
       .input = reused},
      context.with_timeout(kNetworkTimeout));
  if (copied.ok()) std::erase_if(objects, [&](const std::string& each) { return there->contains(each); });
}

// Whether contents stayed away.
Result<bool> SnapshotStore::is_partial(const Path& repository) const {
  MIST_TRY(const std::string settings, files_.read(repository / "config", 1 << 20));
  return settings.find("promisor = true") != std::string::npos;
}

// Git would fetch what it is asked for by name; listing fetches nothing.
Result<std::set<std::string>> SnapshotStore::objects_in(const Path& repository,
                                                        const Context& context) const {
  MIST_TRY(const std::string listing, git_.run({.arguments = {"cat-file", "--batch-all-objects",
                                                              "--unordered", "--batch-check=%(objectname)"},
                                                .repository = repository,
                                                .remote = nullptr,
                                                .input = {},
                                                .output_limit = kMaxListing},
                                               context.with_timeout(kNetworkTimeout)));
  std::set<std::string> objects;
  for (const std::string_view line : split(listing, '\n')) objects.emplace(line);
  return objects;
}

// Each once. Where the repository can't be listed, all count as missing.
void SnapshotStore::keep_missing(std::vector<std::string>& objects, const Path& repository,
                                 const Context& context) const {
  std::ranges::sort(objects);
  const auto repeated = std::ranges::unique(objects);
  objects.erase(repeated.begin(), repeated.end());
  if (const Result<std::set<std::string>> here = objects_in(repository, context); here.ok())
    std::erase_if(objects, [&](const std::string& each) { return here->contains(each); });
}

// Without a limit of the caches, no more than each pack has one.
std::uint64_t SnapshotStore::most_in_snapshot() const {
  const GitLimits limits = git_.limits();
  return limits.snapshots ? limits.largest_pack : std::numeric_limits<std::uint64_t>::max();
}

// One at a time in a repository: what a failure leaves there is then known from the work of others. The wait
// for them has a time of its own.
Result<FileLock> SnapshotStore::lock_contents(const Path& repository, const Context& context) const {
  return FileLock::acquire(repository / "fetching", context.with_timeout(kNetworkTimeout));
}

// git would fetch contents that stayed away one by one, a connection each; so ask for many of them at once,
// and for none that is here.
Status SnapshotStore::fetch_missing(const Path& repository, std::vector<std::string> objects,
                                    const Context& caller, const FetchContents& fetch) const {
  MIST_TRY(const bool partial, is_partial(repository));
  if (!partial) return {};
  keep_missing(objects, repository, caller);
  if (objects.empty()) return {};
  if (stays_here_) return *stays_here_;
  MIST_TRY(const FileLock lock, lock_contents(repository, caller));
  const Context context = caller.with_timeout(kNetworkTimeout);
  keep_missing(objects, repository, context);  // another reader was faster
  return fetch(objects, context);
}

Status SnapshotStore::fetch_missing_package(const Path& repository, std::vector<std::string> objects,
                                            std::string_view place, const Context& context) const {
  return fetch_missing(repository, std::move(objects), context,
                       [&](std::span<const std::string> missing, const Context& limited) {
                         return fetch_package(repository, missing, place, limited);
                       });
}

// The files of one package, at `place`. Nobody knows how large they are before they are here, so no more than
// a package may have comes at all.
Status SnapshotStore::fetch_package(const Path& repository, std::span<const std::string> objects,
                                    std::string_view place, const Context& context) const {
  const std::set<std::string> before = packs_in(repository);
  const std::uint64_t with_package = snapshot_bytes(repository) + kMostOfPackage;
  const std::uint64_t most = most_in_snapshot();
  Status fetched =
      fetch_parts({repository, std::min(with_package, most), true}, objects, kFetchBatch, context);
  if (fetched || fetched.error().detail<FetchTooLarge>() == nullptr) return fetched;
  // Its first batches too, else each try would come further.
  remove_packs(repository, before);
  if (with_package <= most) return too_large(place).caused_by(std::move(fetched).error());
  // The first pack has what the snapshot began with.
  if (std::ranges::count_if(before, [](const std::string& name) { return name.ends_with(".pack"); }) > 1)
    return full(repository).caused_by(std::move(fetched).error());
  return fetched;
}

// Contents that were read stay with their snapshot. One that has no room for more of them isn't used again.
Error SnapshotStore::full(const Path& repository) const {
  const Result<std::optional<Snapshot>> now = current();
  if (now && *now && repository_of((*now)->directory) == repository)
    (void)files_.remove(directory_ / "current");
  return error(ErrorKind::Retryable, "the local copy of {} has no room for another package", url_.display())
      .with_hint("try again: the next copy begins without those that were read before");
}

// So many at a time.
Status SnapshotStore::fetch_parts(const Fetching& how, std::span<const std::string> objects, std::size_t most,
                                  const Context& context) const {
  for (std::span<const std::string> rest = objects; !rest.empty();) {
    const std::size_t count = std::min(rest.size(), most);
    MIST_TRY_VOID(fetch_batch(how, rest.first(count), context));
    rest = rest.subspan(count);
  }
  return {};
}

// A batch that takes too long, or is larger than a pack may be, is fetched in parts.
Status SnapshotStore::fetch_batch(const Fetching& how, std::span<const std::string> objects,
                                  const Context& context) const {
  Status fetched = fetch_pack(how, objects, context);
  if (fetched) return {};
  const ErrorKind kind = fetched.error().kind;
  const bool is_too_much = kind == ErrorKind::Timeout || (kind == ErrorKind::Invalid && !how.is_package);
  if (!is_too_much || objects.size() == 1 || !context.check().ok()) return fetched;
  return fetch_parts(how, objects, (objects.size() + kSplit - 1) / kSplit, context);
}

Status SnapshotStore::fetch_pack(const Fetching& how, std::span<const std::string> objects,
                                 const Context& context) const {
  MIST_TRY(const FetchTurn turn, FetchTurn::take(files_, git_.limits(), directory_, context));
  const std::set<std::string> before = packs_in(how.repository);
  const std::uint64_t here = snapshot_bytes(how.repository);
  Result<std::string> fetched =
      git_.run({.arguments = {"fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
                              "--no-recurse-submodules", "--filter=blob:none", "--stdin", "origin"},
                .repository = how.repository,
                .remote = &url_,
                .input = join(objects, "\n") + '\n',
                .settings = {"fetch.negotiationAlgorithm=noop"},
                .file_limit = how.most_bytes - std::min(how.most_bytes, here)},
               context.with_timeout(kNetworkTimeout));
  // Pack and index have that limit each.
  if (fetched && snapshot_bytes(how.repository) <= how.most_bytes) return {};
  // A git that was killed leaves the pack that it didn't finish.
  remove_packs(how.repository, before);
  if (!fetched) return std::move(fetched).error();
  return fetch_too_large(url_);
}

// The names of all files that belong to packs, unfinished ones too.
std::set<std::string> SnapshotStore::packs_in(const Path& repository) const {
  std::set<std::string> names;
  if (const auto entries = files_.list(repository / "objects/pack"))
    for (const DirectoryEntry& each : *entries) names.insert(each.name);
  return names;
}

void SnapshotStore::remove_packs(const Path& repository, const std::set<std::string>& but) const {
  for (const std::string& each : packs_in(repository))
    if (!but.contains(each)) (void)files_.remove(repository / "objects/pack" / each);
}

}  // namespace mist::registry
