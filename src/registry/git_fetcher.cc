#include "registry/git_fetcher.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "config/redact.h"
#include "http/resolve.h"
#include "registry/kustomization.h"
#include "registry/local_source.h"
#include "registry/registry_view.h"
#include "registry/snapshot_files.h"
#include "registry/snapshot_store.h"

namespace mist::registry {
namespace {

// The address as git may have it. Addresses in a repository on this machine were judged with it.
Result<GitUrl> judged(const GitUrl& address, const BaseReference::Judge& judge, const GitUrl* parent) {
  if (!judge.trusts) return address;
  const bool from_here = parent != nullptr && parent->transport() == GitUrl::Transport::File;
  if (from_here || judge.trusts(address)) return address.without_redirects();
  Result<GitUrl> limited = address.limited_to_public(http::resolve_host);
  if (limited || limited.error().kind != ErrorKind::Forbidden || !limited.error().hint.empty())
    return limited;
  return std::move(limited).error().with_hint(judge.hint);
}

Status accept_anything(const Snapshot&) { return {}; }

// Git has an object for whatever it gives; a mirror's copy has none.
bool is_of_copy(const Pin& pin) { return pin.object.empty(); }

// Whether the reference names other bytes than those of a copy, which nothing proved.
bool contradicts(const GitRef& reference, const Pin& pin) {
  return is_of_copy(pin) && reference.digest && *reference.digest != pin.digest;
}

// The server doesn't answer; it says nothing of what is asked.
bool is_away(ErrorKind kind) { return kind == ErrorKind::Retryable || kind == ErrorKind::Timeout; }

Result<PackageContent> read_from(const SnapshotStore& store, const Snapshot& snapshot,
                                 const PackageIndex& index, const Located& located, bool may_be_kustomize,
                                 const Context& context) {
  if (!located.is_tree || !may_be_kustomize) return store.read(snapshot, located, context);
  const SnapshotFiles files(store, snapshot, index, context);
  MIST_TRY(const bool is_one, is_kustomization(files, located.path));
  if (!is_one) return store.read(snapshot, located, context);
  MIST_TRY(PackageTree tree, read_kustomization(files, located.path));
  return PackageContent(std::move(tree));
}

}  // namespace

GitFetcher::GitFetcher(FileSystem& files, EventSink& events, const config::Paths& paths, const Git& git,
                       const KnownPackages& known, const AddressCopies& copies)
    : files_(files),
      events_(events),
      snapshots_(paths.registries()),
      git_(git),
      known_(known),
      copies_(copies) {}

// Nothing: git may be asked.
Result<std::optional<GitFetcher::Read>> GitFetcher::read_copy(const GitRef& reference, const Context& context,
                                                              std::string_view engine) const {
  const std::optional<AddressName> name = AddressName::of(reference.url, reference.path);
  if (!name) return std::optional<Read>();
  const std::string shown = PackageRef(reference).display();
  MIST_TRY(const std::optional<FoundCopy> copy,
           copies_.find_first(*name, tag_of_ref(CopyOf::Package, reference.ref), shown, context));
  if (!copy) return std::optional<Read>();
  const auto read = [&]() -> Result<Read> {
    const std::string commit = copy->commit();
    if (!is_commit(commit) || (reference.names_commit() && commit != reference.ref))
      return error(ErrorKind::Invalid, "{} is not a copy of {}", copy->name, shown)
          .with_because(commit.empty() ? "it names no commit"
                                       : fmt::format("its commit is {}", escape_controls(commit)))
          .with_hint("mistctl mirror --overwrite copies it again");
    if (copy->is_kustomization() && !may_be_kustomize(engine))
      return error(ErrorKind::Invalid, "{} can't be rendered with {} from a mirror", shown,
                   escape_controls(engine))
          .with_because(
              "it is a Kustomize directory, and mirrors have the files that its kustomization names")
          .with_hint("leave --engine out, or read it from git itself");
    MIST_TRY(PackageContent content, copies_.package(*name, *copy, context));
    return Read{std::move(content),
                commit,
                {},
                fmt::format("{} in {}", copy->name, copy->raw.mirror),
                copy->raw.mirror};
  };
  MIST_TRY(Read found, naming_mirror(read(), copy->raw, shown));
  return std::optional(std::move(found));
}

Result<GitFetcher::Read> GitFetcher::read(const GitRef& reference, const Context& context,
                                          std::string_view engine) const {
  MIST_TRY(std::optional<Read> copy, read_copy(reference, context, engine));
  if (copy) return *std::move(copy);
  MIST_TRY(const RepositoryAtRef there, at_ref(reference.url, reference.ref, {}, nullptr, context));
  MIST_TRY(Located located, there.index.find_path(reference.path)
                                .in(fmt::format("while reading {}", PackageRef(reference).display())));
  MIST_TRY(PackageContent content,
           read_from(there.store, there.snapshot, there.index, located, may_be_kustomize(engine), context));
  std::string origin = fmt::format("{} at {}{}{}", there.shown, there.snapshot.commit.substr(0, 12),
                                   reference.path.empty() ? "" : ", ", reference.path);
  return Read{std::move(content), there.snapshot.commit, std::move(located.object), std::move(origin), {}};
}

// Where no mirror is asked any more, git says whether a copy was right.
Result<bool> GitFetcher::may_be_proven(const GitRef& reference, const Pin& pin) const {
  if (!is_of_copy(pin) || reference.digest) return false;
  const std::optional<AddressName> name = AddressName::of(reference.url, reference.path);
  if (!name) return true;
  MIST_TRY(const AddressCopies::Places places, copies_.places(*name));
  return places == AddressCopies::Places::Original;
}

// Files that git gives, or a digest names, count for more than a copy that nothing proved.
Status GitFetcher::keep_pin(const GitRef& reference, const std::optional<Pin>& before, Pin now) const {
  const std::string name(kGitName);
  const bool is_proven = !is_of_copy(now) || reference.digest;
  if (!before || !is_of_copy(*before) || !is_proven) return known_.record(name, before, std::move(now));
  if (before->digest != now.digest) warn_of_wrong_copy(now.reference, before->origin);
  return known_.pins().replace(name, now);
}

Result<Fetched> GitFetcher::fetch(const GitRef& reference, const Context& context,
                                  std::string_view engine) const {
  const std::string name(kGitName);
  const std::string key = pin_key(reference);
  std::optional<Pin> pin;
  // The engine decides which files belong to a directory; a pin is for the directory by itself.
  const bool pinned = reference.names_commit() && engine.empty();
  if (reference.names_commit()) {
    MIST_TRY(pin, known_.pins().find(name, key));
  }
  std::optional<Fetched> cached;
  if (pinned && pin && !contradicts(reference, *pin)) {
    MIST_TRY_VOID(check_digest(PackageRef(reference), reference.digest, pin->digest));
    cached = known_.from_cache(PackageRef(reference), *pin);
    MIST_TRY(const bool asks_git, may_be_proven(reference, *pin));
    if (cached && !asks_git) return *std::move(cached);
  }
  Result<Read> found = read(reference, context, engine);
  if (!found && cached && is_away(found.error().kind)) {
    MIST_TRY_VOID(context.check());
    warn_unproven(key, pin->origin, fmt::format("git can't be asked: {}", found.error().message));
    return *std::move(cached);
  }
  MIST_TRY(Read there, std::move(found));
  const crypto::Digest digest = digest_of(there.content);
  MIST_TRY_VOID(check_digest(PackageRef(reference), reference.digest, digest));
  GitRef resolved = reference;
  resolved.ref = there.commit;
  if (pinned) {
    MIST_TRY_VOID(keep_pin(reference, pin,
                           {.reference = key,
                            .digest = digest,
                            .is_tree = std::holds_alternative<PackageTree>(there.content),
                            .object = there.object,
                            .origin = there.origin}));
    known_.keep(digest, there.content);
  } else {
    known_.bound_caches(digest);
  }
  const bool proven = there.mirror.empty() || reference.digest || (pin && pin->digest == digest);
  if (reference.names_commit() && !proven) {
    GitRef exact = reference;
    exact.digest = digest;
    warn_unproven(key, there.mirror,
                  fmt::format("if git itself gives this digest, name it too: {}",
                              PackageRef(std::move(exact)).display()));
  }
  return Fetched{std::move(there.content), digest, PackageRef(std::move(resolved)), std::move(there.origin)};
}

Result<RepositoryAtRef> GitFetcher::at_ref(const std::string& url, const std::string& ref,
                                           const BaseReference::Judge& judge, const GitUrl* parent,
                                           const Context& context) const {
  MIST_TRY(GitUrl address, GitUrl::parse(url, working_directory()));
  MIST_TRY(address, judged(address, judge, parent));
  std::string shown = address.display();
  const Path directory =
      snapshots_ / snapshot_directory_name(std::string(kGitName), address.text() + '\n' + ref);
  SnapshotStore store(files_, git_, directory, std::move(address), ref);
  std::optional<Snapshot> snapshot;
  if (is_commit(ref)) {
    MIST_TRY(snapshot, store.current());
  }
  if (!snapshot) {
    Activity activity(events_, fmt::format("fetching {}", shown));
    Result<SnapshotStore::Updated> updated = store.update(context, false, accept_anything);
    if (!updated) {
      activity.fail();
      return std::move(updated).error();
    }
    snapshot = updated->snapshot;
    // Now, and not when all is read: what is asked for may not be in it.
    if (updated->before != snapshot->commit) known_.bound_snapshots();
  }
  MIST_TRY(PackageIndex index, store.index(*snapshot));
  return RepositoryAtRef{std::move(shown), std::move(store), *std::move(snapshot), std::move(index)};
}

void GitFetcher::warn_unproven(const std::string& what, const std::string& mirror,
                               const std::string& hint) const {
  {
    const std::lock_guard guard(mutex_);
    if (!warned_.insert(what).second) return;
  }
  events_.warn(fmt::format("nothing proves that the copy of {} in {} has the files of that commit; {}", what,
                           escape_controls(mirror), hint));
}

void GitFetcher::warn_of_wrong_copy(const std::string& what, const std::string& origin) const {
  events_.warn(
      fmt::format("{} was used here before with other files, which that commit doesn't have: {}; "
                  "don't trust that mirror",
                  what, escape_controls(origin)));
}

// Nothing: git may be asked.
Result<std::optional<GitFetcher::ReadBase>> GitFetcher::base_copy(const BaseReference& base,
                                                                  const Context& context) const {
  const std::optional<AddressName> name = AddressName::of(base.url, base.path);
  if (!name) return std::optional<ReadBase>();
  const CopyOf what = base.submodules ? CopyOf::Base : CopyOf::BareBase;
  MIST_TRY(const std::optional<FoundCopy> copy,
           copies_.find_first(
               *name, tag_of_ref(what, base.ref),
               fmt::format("kustomization {} at {}", name->original, base.ref.empty() ? "HEAD" : base.ref),
               context));
  if (!copy) return std::optional<ReadBase>();
  const auto read = [&]() -> Result<ReadBase> {
    MIST_TRY(PackageContent content, copies_.package(*name, *copy, context));
    auto* const tree = std::get_if<PackageTree>(&content);
    const std::string commit = copy->commit();
    if (tree == nullptr || !is_commit(commit) || (is_commit(base.ref) && commit != base.ref))
      return error(ErrorKind::Invalid, "{} is not a copy of a kustomization", copy->name)
          .with_because(tree == nullptr ? "it is no tree of files"
                                        : fmt::format("its commit is {}", escape_controls(commit)))
          .with_hint("mistctl mirror --overwrite copies it again");
    return ReadBase{std::move(*tree), commit, false, copy->raw.mirror};
  };
  MIST_TRY(ReadBase found, naming_mirror(read(), copy->raw, copy->name));
  return std::optional(std::move(found));
}

Status GitFetcher::check_base(const BaseReference& base, const ReadBase& read,
                              const crypto::Digest& digest) const {
  const std::optional<AddressName> name = AddressName::of(base.url, base.path);
  const std::string original = name ? name->original : config::redact_urls(base.url);
  const std::string shown =
      escape_controls(fmt::format("the kustomization {} at {}", original, read.commit.substr(0, 12)));
  const bool is_copy = !read.mirror.empty();
  if (base.digest && *base.digest != digest)
    return error(ErrorKind::Conflict, "{} is not what mistletoe.lock has", shown)
        .with_because(fmt::format(
            "the digest of its files is {}, it was {}{}", digest.str(), base.digest->str(),
            is_copy ? fmt::format("; they come from {}", escape_controls(read.mirror)) : std::string()))
        .with_hint(is_copy ? "a commit never changes: don't trust this mirror, or lock again where git "
                             "itself is read: mistctl package lock --update-all"
                           : "a commit never changes, so the lock was written of something else; mistctl "
                             "package lock --update-all writes it anew");
  if (!name) return {};
  const std::string registry(kBaseName);
  const std::string key =
      fmt::format("{}?ref={}{}", original, read.commit, base.submodules ? "" : "&submodules=false");
  MIST_TRY(const std::optional<Pin> pin, known_.pins().find(registry, key));
  const Pin now{.reference = key,
                .digest = digest,
                .is_tree = true,
                .object = {},
                .origin = escape_controls(read.mirror)};
  // Git held it against the commit, so a copy was wrong before.
  if (pin && pin->digest != digest && !is_copy) {
    warn_of_wrong_copy(shown, pin->origin);
    return known_.pins().replace(registry, now);
  }
  MIST_TRY_VOID(known_.record(registry, pin, now));
  if (is_copy && is_commit(base.ref) && !base.digest && !pin)
    warn_unproven(shown, read.mirror,
                  "a mistletoe.lock that mistctl package lock writes where git itself is read has the digest "
                  "that does");
  return {};
}

Result<FetchedBase> GitFetcher::fetch_base(const BaseReference& base, const Context& context) const {
  if (!base.ref.empty() && !is_git_ref(base.ref))
    return error(ErrorKind::Invalid, "{} is not a branch, tag or commit", escape_controls(base.ref))
        .with_hint("name one after ?ref=");
  MIST_TRY(ReadBase read, read_base(base, context));
  PackageContent content(std::move(read.tree));
  const crypto::Digest digest = digest_of(content);
  MIST_TRY_VOID(check_base(base, read, digest));
  return FetchedBase{std::get<PackageTree>(std::move(content)), digest, std::move(read.commit),
                     read.on_this_machine};
}

Result<GitFetcher::ReadBase> GitFetcher::read_base(const BaseReference& base, const Context& context) const {
  MIST_TRY(std::optional<ReadBase> copy, base_copy(base, context));
  if (copy) return *std::move(copy);
  MIST_TRY(const RepositoryAtRef there, at_ref(base.url, base.ref, base.judge, nullptr, context));
  const auto open = [&](const GitUrl& parent, const std::string& url, const std::string& commit) {
    return at_ref(url, commit, base.judge, &parent, context);
  };
  MIST_TRY(const RepositoryFiles files, RepositoryFiles::open(git_, there, base.submodules, open, context));
  const std::string root = Path(base.path).lexically_normal().generic_string();
  const std::string directory = root == "." ? "" : root.substr(0, root.find_last_not_of('/') + 1);
  if (!has_kustomization(files, directory))
    return error(ErrorKind::Invalid, "there is no kustomization in {} of {} at {}",
                 directory.empty() ? "the top" : escape_controls(directory), there.shown,
                 there.snapshot.commit.substr(0, 12))
        .with_hint("check the path (after '//') and the ref (after '?ref=')");
  MIST_TRY(PackageTree tree, read_kustomization(files, directory, TreeTop::Source));
  const bool local = std::ranges::all_of(
      tree.files, [&](const PackageFile& file) { return files.is_on_this_machine(file.path); });
  return ReadBase{std::move(tree), there.snapshot.commit, local, {}};
}

}  // namespace mist::registry
