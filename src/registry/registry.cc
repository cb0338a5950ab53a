#include "registry/registry.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "base/text.h"
#include "config/redact.h"
#include "oci/layout.h"
#include "oci/manifest.h"
#include "oci/tags.h"
#include "registry/chart_trust.h"
#include "registry/file_trust.h"
#include "registry/git.h"
#include "registry/helm_view.h"
#include "registry/kustomization.h"
#include "registry/local_source.h"
#include "registry/oci_mirrors.h"
#include "registry/oci_packages.h"
#include "registry/oci_trust.h"
#include "registry/package_cache.h"
#include "registry/pin_store.h"
#include "registry/registry_view.h"
#include "registry/snapshot_files.h"
#include "registry/snapshot_store.h"
#include "registry/submodules.h"

namespace mist::registry {
namespace {

// Begins as no registry's name can, so that git+https references have a place of their own.
constexpr std::string_view kGitName = "_git";
// The same for oci:// references.
constexpr std::string_view kOciName = "_oci";

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

/// The key of a pin: a digest or credentials don't make it another version.
template <typename Form>
std::string pin_key(Form form) {
  form.digest.reset();
  return PackageRef(std::move(form)).display();
}

Error changed_bytes(const std::string& registry, const std::string& reference, const crypto::Digest& recorded,
                    const crypto::Digest& now) {
  Error failure = error(ErrorKind::Conflict, "{} isn't what it was when it was first used here", reference)
                      .with_because(fmt::format("it was {}, now it is {}", recorded.str(), now.str()));
  if (registry == kGitName)
    return std::move(failure).with_hint("a commit never changes: don't trust this server");
  if (registry == kOciName)
    return std::move(failure).with_hint(
        "published versions don't change: ask the package's owner; to trust the new bytes, name their "
        "manifest: "
        "oci://…@sha256:…");
  return std::move(failure).with_hint(
      fmt::format("published versions don't change: ask the registry's owner; to trust the new "
                  "bytes: mistctl registry update {} --accept-changed",
                  registry));
}

Status check_digest(const PackageRef& reference, const std::optional<crypto::Digest>& wanted,
                    const crypto::Digest& digest) {
  if (!wanted || *wanted == digest) return {};
  return error(ErrorKind::Conflict, "digest mismatch: {} pins other content", reference.display())
      .with_because(fmt::format("the digest of this content is {}", digest.str()))
      .with_hint("if the package is the right one, correct or leave out the part after '@'");
}

Result<ProvenanceFile> read_local_provenance(const FileSystem& files, const Path& path) {
  ProvenanceFile file{{}, escape_controls(path.string())};
  Result<std::string> text = files.read(path, trust::kMaxProvenanceBytes);
  if (text)
    file.text = *std::move(text);
  else if (text.error().kind != ErrorKind::NotFound)
    return std::move(text).error();
  return file;
}

// A host in place of a name is an OCI registry, of which the scheme was left out.
Error unknown_registry_of(const config::Config& config, const std::string& name, std::string_view rest) {
  Error failure = config::unknown_registry(config, name);
  if (rest.empty() || name.find('.') == std::string::npos) return failure;
  failure.hint = fmt::format("did you mean {}{}{}? Otherwise: mistctl registry add {} -g URL", oci::kScheme,
                             name, escape_controls(rest), name);
  return failure;
}

Path working_directory() {
  std::error_code failed;
  Path here = std::filesystem::current_path(failed);
  return failed ? Path("/") : here;
}

Status accept_anything(const Snapshot&) { return {}; }

// Any other engine takes all files of the directory.
bool may_be_kustomize(std::string_view engine) { return engine.empty() || engine == "kustomize"; }

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

class Registries::Impl {
 public:
  explicit Impl(World world)
      : world_(std::move(world)),
        git_(world_.processes),
        cache_(world_.files, world_.events, world_.paths.packages()),
        modules_(world_.paths.compiled_code(), world_.files, world_.clock),
        pins_(world_.files, world_.paths.pins()),
        oci_(world_.oci, world_.files, world_.processes),
        trust_(world_.files, world_.paths, world_.clock, world_.events, world_.check_provenance) {}

  /// Warnings of the file are said once, however often it is read.
  Result<config::Config> load() const {
    NullEventSink silent;
    EventSink& events = warned_.exchange(true) ? silent : world_.events;
    return config::Config::load(world_.files, world_.paths, events);
  }

  /// Where the repositories of an OCI registry that is configured are; nothing: it is of another kind.
  /// `rest`: what follows the name in the reference.
  Result<std::optional<std::string>> oci_url(const std::string& name, std::string_view rest = {}) const {
    MIST_TRY(const config::Config config, load());
    const config::Registry* registry = config.find_registry(name);
    if (registry == nullptr) return unknown_registry_of(config, name, rest);
    const auto* const oci = std::get_if<config::OciSource>(&registry->remote().source);
    return oci != nullptr ? std::optional(oci->url) : std::nullopt;
  }

  Result<std::unique_ptr<RegistryView>> open(const std::string& name) const {
    MIST_TRY(const config::Config config, load());
    const config::Registry* registry = config.find_registry(name);
    if (registry == nullptr) return config::unknown_registry(config, name);
    return open_view(*registry, world_.paths, world_.files, git_, world_.events, world_.oci);
  }

  enum class Judged : std::uint8_t { Here, Later };
  Result<Fetched> fetch(const RegistryRef& reference, const Context& context, std::string_view engine,
                        Judged judged = Judged::Here) const;
  Result<Fetched> fetch(const GitRef& reference, const Context& context, std::string_view engine) const;
  Result<Fetched> fetch(const oci::Reference& reference, const Context& context, std::string_view,
                        ChangedVersions changed = ChangedVersions::Refuse) const;
  Result<Fetched> fetch(const LocalRef& reference, const Context& context, std::string_view engine) const;

  /// Nothing: it is of a registry of another kind.
  Result<std::optional<oci::Reference>> oci_reference(const PackageRef& reference) const;
  /// The same; Forbidden where the trust policy has a rule for it that no OCI registry can keep.
  Result<std::optional<oci::Reference>> trusted_oci_reference(const PackageRef& reference) const;

  Result<FetchedBase> fetch_base(const BaseReference& base, const Context& context) const;
  Result<ChartVerdict> verify_chart(const Fetched& package, std::shared_ptr<const trust::Keyring> keyring,
                                    const Context& context) const;
  Status check_chart(const DownloadedChart& chart, http::Transport& transport,
                     std::shared_ptr<const trust::Keyring> keyring, const Context& context) const;

  /// Holds a new state of a registry against everything that was read from it before.
  Status check_pins(const std::string& registry, const RegistryState& state, ChangedVersions changed,
                    std::size_t& accepted) const;

  RegistryView::Accept refusing(const std::string& registry) const {
    return [this, registry](const RegistryState& state) {
      std::size_t accepted = 0;
      return check_pins(registry, state, ChangedVersions::Refuse, accepted);
    };
  }

  Status forget(const std::string& name) const;
  void add_version_hint(std::string_view text, Error& failure) const;

  const World& world() const { return world_; }
  OciSession& oci() const { return oci_; }

  /// The registries, or mirrors before them.
  Result<OciSource*> oci_source() const {
    MIST_TRY(OciClient* const client, oci_.client());
    const std::lock_guard guard(mirrors_mutex_);
    if (source_ != nullptr) return source_;
    source_ = client;
    if (world_.mirrors == Mirrors::Ignore) return source_;
    source_ = nullptr;
    MIST_TRY(const config::Config config, load());
    if (!config.mirrors().empty()) {
      MIST_TRY(mirrors_,
               MirroredSource::make(*client, config.mirrors(),
                                    {world_.files, world_.events, world_.paths.config_file.parent_path()}));
    }
    source_ = mirrors_ ? static_cast<OciSource*>(mirrors_.get()) : client;
    return source_;
  }

 private:
  // Packages of a named OCI registry are judged by what they are: oci://….
  Status check_rule_is_for_git(const RegistryRef& reference, const oci::Repository& repository) const {
    MIST_TRY(const trust::Rule rule, trust_.rule_for(package_of(reference)));
    if (rule.mode != trust::Mode::Require) return {};
    return error(ErrorKind::Forbidden, "the trust policy's rule {} can't be held for {}", rule.match,
                 repository.str())
        .with_because(fmt::format("{} is an OCI registry, and the rule ({}) is for one in git or a directory",
                                  reference.registry, rule.place))
        .with_hint(fmt::format("write it for {}", repository.str()));
  }
  Status check_chart_trust_as(const std::vector<std::string>& repositories, RegistryRef chart,
                              const PackageContent& content, const crypto::Digest& digest,
                              const ReadProvenance& read, const Context& context) const;
  static trust::Rule rule_of(std::shared_ptr<const trust::Keyring> keyring) {
    return {.match = {}, .mode = trust::Mode::Require, .keys = {}, .keyring = std::move(keyring)};
  }
  // By its provenance file; nothing is recorded.
  Result<ChartVerdict> judged_by(const trust::Rule& rule, const trust::Subject& subject,
                                 const trust::ChartArchive& archive, const ReadProvenance& read,
                                 KeepText keep, const Context& context) const;
  Status check_signed_version(const oci::Reference& tagged, const RawManifest& raw) const;
  Result<std::optional<Fetched>> known_manifest(oci::Reference reference,
                                                const crypto::Digest& manifest) const;
  Result<RawManifest> read_manifest(OciSource& client, const oci::Reference& reference,
                                    const Context& context) const;
  Result<Fetched> fetch_manifest(OciSource& client, const oci::Reference& reference, const RawManifest& raw,
                                 const Context& context) const;

  // As it is now: a commit that was fetched before needs no network.
  Result<RepositoryAtRef> at_ref(const std::string& url, const std::string& ref,
                                 const BaseReference::Judge& judge, const GitUrl* parent,
                                 const Context& context) const;

  std::optional<Fetched> from_cache(const PackageRef& reference, const Pin& pin) const {
    std::optional<PackageContent> content = cache_.get(pin.digest, pin.is_tree);
    if (!content) return std::nullopt;
    return Fetched{*std::move(content), pin.digest, reference, pin.origin};
  }

  Status record(const std::string& registry, const std::optional<Pin>& known, Pin pin) const;

  // After something was added to them; `used` stays whatever its size.
  void bound_caches(const crypto::Digest& used) const {
    const Result<config::Config> config = load();
    const config::CacheLimits limits = config.ok() ? config->cache_limits() : config::CacheLimits{};
    cache_.bound(limits.packages, used);
    SnapshotStore::bound(world_.files, world_.paths.registries(), limits.registries);
  }

  World world_;
  mutable std::atomic<bool> warned_ = false;
  Git git_;
  PackageCache cache_;
  wasm::ModuleFiles modules_;
  PinStore pins_;
  mutable OciSession oci_;  // says itself that any thread may use it
  mutable std::mutex mirrors_mutex_;
  mutable std::unique_ptr<MirroredSource> mirrors_;  // guarded by mirrors_mutex_ until source_ is set
  mutable OciSource* source_ = nullptr;              // the same
  mutable OciTrust trust_;                           // the same
};

Result<std::optional<oci::Reference>> Registries::Impl::oci_reference(const PackageRef& reference) const {
  if (const auto* const there = std::get_if<oci::Reference>(&reference.form())) return std::optional(*there);
  const auto* const named = std::get_if<RegistryRef>(&reference.form());
  if (named == nullptr) return std::optional<oci::Reference>();
  MIST_TRY(const std::optional<std::string> url,
           oci_url(named->registry, fmt::format("/{}:{}", named->path, named->version)));
  if (!url) return std::optional<oci::Reference>();
  MIST_TRY(const oci::Repository repository, repository_below(*url, named->path));
  MIST_TRY(oci::Reference there,
           oci::Reference::parse(fmt::format("{}:{}", repository.str(), named->version)));
  return std::optional(std::move(there));
}

Result<std::optional<oci::Reference>> Registries::Impl::trusted_oci_reference(
    const PackageRef& reference) const {
  MIST_TRY(std::optional<oci::Reference> there, oci_reference(reference));
  const auto* const named = std::get_if<RegistryRef>(&reference.form());
  if (there && named != nullptr) MIST_TRY_VOID(check_rule_is_for_git(*named, there->repository));
  return there;
}

Result<Fetched> Registries::Impl::fetch(const RegistryRef& wanted, const Context& context,
                                        std::string_view engine, Judged judged) const {
  MIST_TRY(const std::optional<oci::Reference> there, trusted_oci_reference(PackageRef(wanted)));
  if (there) {
    MIST_TRY(Fetched fetched, fetch(*there, context, engine));
    MIST_TRY_VOID(check_digest(PackageRef(wanted), wanted.digest, fetched.digest));
    return fetched;
  }
  MIST_TRY(const std::unique_ptr<RegistryView> view, open(wanted.registry));
  MIST_TRY(const RegistryRef reference, view->exact(wanted, context, refusing(wanted.registry)));
  const std::string key = pin_key(reference);
  const auto is_trusted = [&](const PackageContent& content, const crypto::Digest& digest) -> Status {
    const std::string_view address = view->chart_repository();
    if (!address.empty() && judged == Judged::Later) return {};
    if (!address.empty())
      return check_chart_trust_as(
          {reference.registry, trust::chart_repository_name(address)}, reference, content, digest,
          [&] { return view->provenance(reference, context, refusing(reference.registry)); }, context);
    return check_file_trust(trust_, reference, content, digest,
                            [&](const std::string& path) -> Result<std::optional<std::string>> {
                              MIST_TRY(RegistryFile file,
                                       view->file(path, {}, context, refusing(reference.registry)));
                              return std::move(file.bytes);
                            });
  };
  MIST_TRY(const std::optional<Pin> pin, pins_.find(reference.registry, key));
  if (pin) {
    MIST_TRY_VOID(check_digest(PackageRef(reference), reference.digest, pin->digest));
    if (view->is_remote())
      if (std::optional<Fetched> cached = from_cache(PackageRef(reference), *pin)) {
        MIST_TRY_VOID(is_trusted(cached->content, cached->digest));
        return *std::move(cached);
      }
  }
  MIST_TRY(ReadPackage read, view->read(reference, context, refusing(reference.registry)));
  const crypto::Digest digest = digest_of(read.content);
  MIST_TRY_VOID(check_digest(PackageRef(reference), reference.digest, digest));
  MIST_TRY_VOID(is_trusted(read.content, digest));
  MIST_TRY_VOID(record(reference.registry, pin,
                       {.reference = key,
                        .digest = digest,
                        .is_tree = std::holds_alternative<PackageTree>(read.content),
                        .object = read.object,
                        .origin = read.origin}));
  if (view->is_remote()) {
    cache_.put(digest, read.content);
    bound_caches(digest);
  }
  return Fetched{std::move(read.content), digest, PackageRef(reference), std::move(read.origin)};
}

Result<Fetched> Registries::Impl::fetch(const GitRef& reference, const Context& context,
                                        std::string_view engine) const {
  const std::string name(kGitName);
  const std::string key = pin_key(reference);
  std::optional<Pin> pin;
  // The engine decides which files belong to a directory; a pin is for the directory by itself.
  const bool pinned = reference.names_commit() && engine.empty();
  if (pinned) {
    MIST_TRY(pin, pins_.find(name, key));
    if (pin) {
      MIST_TRY_VOID(check_digest(PackageRef(reference), reference.digest, pin->digest));
      if (std::optional<Fetched> cached = from_cache(PackageRef(reference), *pin)) return *std::move(cached);
    }
  }
  MIST_TRY(const RepositoryAtRef there, at_ref(reference.url, reference.ref, {}, nullptr, context));
  MIST_TRY(const Located located, there.index.find_path(reference.path)
                                      .in(fmt::format("while reading {}", PackageRef(reference).display())));
  MIST_TRY(PackageContent content,
           read_from(there.store, there.snapshot, there.index, located, may_be_kustomize(engine), context));
  const crypto::Digest digest = digest_of(content);
  MIST_TRY_VOID(check_digest(PackageRef(reference), reference.digest, digest));
  GitRef resolved = reference;
  resolved.ref = there.snapshot.commit;
  const std::string origin = fmt::format("{} at {}{}{}", there.shown, there.snapshot.commit.substr(0, 12),
                                         reference.path.empty() ? "" : ", ", reference.path);
  if (pinned) {
    MIST_TRY_VOID(record(name, pin,
                         {.reference = key,
                          .digest = digest,
                          .is_tree = std::holds_alternative<PackageTree>(content),
                          .object = located.object,
                          .origin = origin}));
    cache_.put(digest, content);
  }
  bound_caches(digest);
  return Fetched{std::move(content), digest, PackageRef(std::move(resolved)), origin};
}

Result<RepositoryAtRef> Registries::Impl::at_ref(const std::string& url, const std::string& ref,
                                                 const BaseReference::Judge& judge, const GitUrl* parent,
                                                 const Context& context) const {
  MIST_TRY(GitUrl address, GitUrl::parse(url, working_directory()));
  MIST_TRY(address, judged(address, judge, parent));
  std::string shown = address.display();
  const Path directory =
      world_.paths.registries() / snapshot_directory_name(std::string(kGitName), address.text() + '\n' + ref);
  SnapshotStore store(world_.files, git_, directory, std::move(address), ref);
  std::optional<Snapshot> snapshot;
  if (is_commit(ref)) {
    MIST_TRY(snapshot, store.current());
  }
  if (!snapshot) {
    Activity activity(world_.events, fmt::format("fetching {}", shown));
    Result<SnapshotStore::Updated> updated = store.update(context, false, accept_anything);
    if (!updated) {
      activity.fail();
      return std::move(updated).error();
    }
    snapshot = updated->snapshot;
  }
  MIST_TRY(PackageIndex index, store.index(*snapshot));
  return RepositoryAtRef{std::move(shown), std::move(store), *std::move(snapshot), std::move(index)};
}

Result<FetchedBase> Registries::Impl::fetch_base(const BaseReference& base, const Context& context) const {
  if (!base.ref.empty() && !is_git_ref(base.ref))
    return error(ErrorKind::Invalid, "{} is not a branch, tag or commit", escape_controls(base.ref))
        .with_hint("name one after ?ref=");
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
  return FetchedBase{std::move(tree), there.snapshot.commit, local};
}

Result<Fetched> Registries::Impl::fetch(const LocalRef& reference, const Context& context,
                                        std::string_view engine) const {
  MIST_TRY_VOID(context.check());
  PackageRef resolved = PackageRef(reference).anchored(working_directory());
  const Path& path = std::get<LocalRef>(resolved.form()).path;
  std::optional<PackageTree> kustomization;
  if (may_be_kustomize(engine) && world_.files.is_directory(reference.path)) {
    MIST_TRY(kustomization, read_local_kustomization(world_.files, reference.path));
  }
  std::optional<PackageContent> content;
  if (kustomization) {
    content = *std::move(kustomization);
  } else {
    MIST_TRY(content, read_local(world_.files, modules_, reference.path));
  }
  const crypto::Digest digest = digest_of(*content);
  std::string origin = path.string();
  return Fetched{*std::move(content), digest, std::move(resolved), std::move(origin)};
}

// A rule may name the repository or its address.
Status Registries::Impl::check_chart_trust_as(const std::vector<std::string>& repositories, RegistryRef chart,
                                              const PackageContent& content, const crypto::Digest& digest,
                                              const ReadProvenance& read, const Context& context) const {
  for (const std::string& each : repositories) {
    chart.registry = each;
    MIST_TRY_VOID(check_chart_trust(trust_, chart, content, digest, read, context));
  }
  return {};
}

Status Registries::Impl::check_chart(const DownloadedChart& chart, http::Transport& transport,
                                     std::shared_ptr<const trust::Keyring> keyring,
                                     const Context& context) const {
  MIST_TRY(const config::Config config, load());
  const std::string address = trust::chart_repository_name(chart.server.url);
  std::vector<std::string> repositories{address};
  for (const config::Registry& each : config.registries())
    if (const auto* const helm = std::get_if<config::HelmSource>(&each.remote().source);
        helm != nullptr && trust::chart_repository_name(helm->url) == address)
      repositories.push_back(each.name);
  const RegistryRef named{address, chart.version.chart, chart.version.version, {}};
  const std::string place = PackageRef(named).display();
  MIST_TRY(const PackageContent content, packed_chart(named.name(), chart.archive, place));
  const crypto::Digest digest = digest_of(content);
  const ReadProvenance read = [&] {
    return read_provenance(transport, chart.server, chart.version, context);
  };
  MIST_TRY_VOID(check_chart_trust_as(repositories, named, content, digest, read, context));
  if (keyring == nullptr) return {};
  MIST_TRY(const trust::ChartArchive archive, repository_chart(content, place));
  MIST_TRY(ChartVerdict verdict, judged_by(rule_of(std::move(keyring)), chart_subject(named, digest), archive,
                                           read, KeepText::No, context));
  return std::move(verdict.judged);
}

Result<ChartVerdict> Registries::Impl::judged_by(const trust::Rule& rule, const trust::Subject& subject,
                                                 const trust::ChartArchive& archive,
                                                 const ReadProvenance& read, KeepText keep,
                                                 const Context& context) const {
  MIST_TRY(ChartProofs chart, prove_chart(trust_, subject, archive, *rule.keyring, read, keep, context));
  Status judged = trust::judge_required(rule, subject, chart.proofs, world_.clock.now(), chart.missing);
  return ChartVerdict{std::move(chart.proofs), std::move(judged)};
}

Result<ChartVerdict> Registries::Impl::verify_chart(const Fetched& package,
                                                    std::shared_ptr<const trust::Keyring> keyring,
                                                    const Context& context) const {
  const trust::Rule rule = rule_of(std::move(keyring));
  const std::string name = package.resolved.display();
  if (const auto* const there = std::get_if<oci::Reference>(&package.resolved.form())) {
    MIST_TRY(OciSource* const client, oci_source());
    if (!there->digest) return error(ErrorKind::Internal, "{} has no digest", name);
    MIST_TRY(Verdict verdict, trust_.look(there->repository, *there->digest, *client, &rule, context));
    Status judged = trust::judge_required(rule, {there->repository.identity(), *there->digest},
                                          verdict.proofs, world_.clock.now(), verdict.missing);
    return ChartVerdict{std::move(verdict.proofs), std::move(judged)};
  }
  MIST_TRY(trust::ChartArchive archive, chart_archive(package.content, name));
  trust::Subject subject{name, package.digest};
  ReadProvenance read;
  KeepText keep = KeepText::No;
  std::unique_ptr<RegistryView> view;
  if (const auto* const local = std::get_if<LocalRef>(&package.resolved.form())) {
    read = [this, path = Path(local->path.string() + std::string(trust::kProvenanceEnding))] {
      return read_local_provenance(world_.files, path);
    };
  } else if (const auto* const named = std::get_if<RegistryRef>(&package.resolved.form())) {
    MIST_TRY(view, open(named->registry));
    // The name in a repository is the chart's, whatever it was called when it was packed.
    archive.file.clear();
    subject = chart_subject(*named, package.digest);
    keep = KeepText::Yes;
    read = [this, &view, named, &context] {
      return view->provenance(*named, context, refusing(named->registry));
    };
  } else {
    return error(ErrorKind::Invalid, "{} has no provenance file", name)
        .with_because("packages in git repositories are protected by their commit")
        .with_hint("leave --verify out, or name the chart in a chart repository or an OCI registry");
  }
  return judged_by(rule, subject, archive, read, keep, context);
}

std::string manifest_key(const oci::Repository& repository, const crypto::Digest& manifest) {
  return fmt::format("{}@{}", repository.str(), manifest.str());
}

std::string tag_key(const oci::Reference& reference) {
  return fmt::format("{}:{}", reference.repository.str(), reference.tag);
}

// The package that was read under this digest before, while the cache has it.
Result<std::optional<Fetched>> Registries::Impl::known_manifest(oci::Reference reference,
                                                                const crypto::Digest& manifest) const {
  MIST_TRY(const std::optional<Pin> pin,
           pins_.find(std::string(kOciName), manifest_key(reference.repository, manifest)));
  if (!pin) return std::optional<Fetched>();
  reference.digest = manifest;
  return from_cache(PackageRef(std::move(reference)), *pin);
}

// Of a version that was used before, the manifest that it had then will do while its registry is away.
Result<RawManifest> Registries::Impl::read_manifest(OciSource& client, const oci::Reference& reference,
                                                    const Context& context) const {
  Result<RawManifest> raw = client.manifest(
      reference.repository, reference.digest ? reference.digest->str() : reference.tag, context);
  if (raw || raw.error().kind != ErrorKind::Retryable || reference.digest) return raw;
  MIST_TRY(const std::optional<Pin> pin, pins_.find(std::string(kOciName), tag_key(reference)));
  const Result<crypto::Digest> manifest = crypto::Digest::parse(pin ? pin->object : std::string());
  if (!manifest) return raw;
  MIST_TRY(const std::optional<Fetched> here, known_manifest(reference, *manifest));
  if (!here) return raw;
  world_.events.warn(fmt::format("{}; {} is taken as it was when it was last fetched",
                                 escape_controls(raw.error().message), reference.str()));
  return RawManifest{.bytes = {}, .content_type = {}, .digest = *manifest};
}

Result<Fetched> Registries::Impl::fetch_manifest(OciSource& client, const oci::Reference& reference,
                                                 const RawManifest& raw, const Context& context) const {
  MIST_TRY(std::optional<Fetched> known, known_manifest(reference, raw.digest));
  if (known) return *std::move(known);
  MIST_TRY(PackageContent content, read_oci_package(client, reference, raw, context));
  const std::string key = manifest_key(reference.repository, raw.digest);
  const crypto::Digest digest = digest_of(content);
  const std::string origin = fmt::format("{}, manifest {}", reference.str(), raw.digest.str());
  MIST_TRY(const std::optional<Pin> pin, pins_.find(std::string(kOciName), key));
  MIST_TRY_VOID(record(std::string(kOciName), pin,
                       {.reference = key,
                        .digest = digest,
                        .is_tree = std::holds_alternative<PackageTree>(content),
                        .object = raw.digest.str(),
                        .origin = origin}));
  cache_.put(digest, content);
  bound_caches(digest);
  oci::Reference resolved = reference;
  resolved.digest = raw.digest;
  return Fetched{std::move(content), digest, PackageRef(std::move(resolved)), origin};
}

// A signature is for a manifest, not for a tag: an old version, signed as it is, could come back under the
// tag of a new one. The manifest, which is signed, says its version.
Status Registries::Impl::check_signed_version(const oci::Reference& tagged, const RawManifest& raw) const {
  // Of a registry that is away there are no bytes; its tag is pinned.
  if (raw.bytes.empty() || !oci::is_fixed_version(tagged.tag)) return {};
  MIST_TRY(const bool counts, trust_.looks_at(tagged.repository.identity()));
  if (!counts) return {};
  MIST_TRY(const oci::Document document, oci::parse_document(raw.bytes, raw.content_type, tagged.str()));
  const oci::Annotations& annotations =
      std::visit([](const auto& each) -> const oci::Annotations& { return each.annotations; }, document);
  const auto version = annotations.find(std::string(oci::kVersionAnnotation));
  if (version == annotations.end()) return {};
  const std::string tag = oci::tag_of_version(version->second);
  const auto without_v = [](std::string_view text) { return text.substr(text.starts_with('v') ? 1 : 0); };
  if (!oci::is_fixed_version(tag) || without_v(tag) == without_v(tagged.tag)) return {};
  return error(ErrorKind::Forbidden, "{} says that it is version {}", tagged.str(),
               escape_controls(version->second))
      .with_because("a signature doesn't name the tag, so an old version could be passed off as a new one")
      .with_hint(fmt::format("ask whoever publishes it; if it is what you want, name its manifest: {}@{}",
                             tagged.repository.str(), raw.digest.str()));
}

Result<Fetched> Registries::Impl::fetch(const oci::Reference& reference, const Context& context,
                                        std::string_view, ChangedVersions changed) const {
  const OciTrust::FindClient find_client = [this] { return oci_source(); };
  if (reference.digest) {
    MIST_TRY(std::optional<Fetched> known, known_manifest(reference, *reference.digest));
    if (known) {
      MIST_TRY_VOID(trust_.check(reference.repository, *reference.digest, find_client, context));
      return *std::move(known);
    }
  }
  MIST_TRY(OciSource* const client, oci_source());
  Activity activity(world_.events, fmt::format("fetching {}", reference.str()));
  const auto read = [&](const oci::Reference& tagged, const RawManifest& raw) -> Result<Fetched> {
    MIST_TRY_VOID(trust_.check(tagged.repository, raw.digest, find_client, context));
    if (!reference.digest) MIST_TRY_VOID(check_signed_version(tagged, raw));
    MIST_TRY(Fetched fetched, fetch_manifest(*client, tagged, raw, context));
    // A version keeps its bytes; other tags may move.
    if (reference.digest || !oci::is_fixed_version(tagged.tag)) return fetched;
    const std::string key = tag_key(tagged);
    MIST_TRY(const std::optional<Pin> pin, pins_.find(std::string(kOciName), key));
    Pin now{.reference = key,
            .digest = fetched.digest,
            .is_tree = std::holds_alternative<PackageTree>(fetched.content),
            .object = raw.digest.str(),
            .origin = fetched.origin};
    if (changed == ChangedVersions::Accept && pin && pin->digest != now.digest)
      MIST_TRY_VOID(pins_.replace(std::string(kOciName), now));
    else
      MIST_TRY_VOID(record(std::string(kOciName), pin, std::move(now)));
    return fetched;
  };
  const auto all = [&]() -> Result<Fetched> {
    MIST_TRY(const oci::Reference tagged, with_tag(*client, reference, context));
    MIST_TRY(const RawManifest raw, read_manifest(*client, tagged, context));
    return naming_mirror(read(tagged, raw), raw, tagged.str());
  };
  Result<Fetched> fetched = all();
  if (!fetched) activity.fail();
  return fetched;
}

Status Registries::Impl::record(const std::string& registry, const std::optional<Pin>& known, Pin pin) const {
  if (known && known->digest == pin.digest) return {};
  if (known) return changed_bytes(registry, pin.reference, known->digest, pin.digest);
  const Status added = pins_.add(registry, pin);
  if (added) return {};
  if (added.error().kind == ErrorKind::Conflict) {
    // Another process was first: what it read must be what we read.
    MIST_TRY(const std::optional<Pin> theirs, pins_.find(registry, pin.reference));
    if (theirs && theirs->digest != pin.digest)
      return changed_bytes(registry, pin.reference, theirs->digest, pin.digest);
    if (theirs) return {};
  }
  world_.events.warn(fmt::format("which bytes {} has is not recorded: {}", pin.reference,
                                 escape_controls(added.error().to_line())));
  return {};
}

Status Registries::Impl::check_pins(const std::string& registry, const RegistryState& state,
                                    ChangedVersions changed, std::size_t& accepted) const {
  MIST_TRY(const std::vector<Pin> pins, pins_.all(registry));
  std::optional<Error> first;
  std::size_t refused = 0;
  for (const Pin& pin : pins) {
    MIST_TRY(const PackageRef parsed, PackageRef::parse(pin.reference));
    const auto* reference = std::get_if<RegistryRef>(&parsed.form());
    if (reference == nullptr) continue;
    const Result<std::string> object = state.object_of(*reference);
    if (!object && object.error().kind == ErrorKind::NotFound) continue;  // withdrawn; what we have stays
    if (object && !object->empty() && *object == pin.object) continue;
    Result<ReadPackage> read = state.read(*reference);
    if (!read && read.error().kind == ErrorKind::NotFound) continue;
    if (!read) return std::move(read).error();
    const crypto::Digest digest = digest_of(read->content);
    if (digest == pin.digest) continue;
    if (changed == ChangedVersions::Refuse) {
      if (++refused == 1) first = changed_bytes(registry, pin.reference, pin.digest, digest);
      continue;
    }
    Pin replacement = pin;
    replacement.digest = digest;
    replacement.is_tree = std::holds_alternative<PackageTree>(read->content);
    replacement.object = read->object;
    replacement.origin = read->origin;
    MIST_TRY_VOID(pins_.replace(registry, replacement));
    cache_.put(digest, read->content);
    ++accepted;
  }
  if (!first) return {};
  if (refused > 1) first->because += fmt::format("; {} more changed too", plural(refused - 1, "version"));
  return *std::move(first);
}

Status Registries::Impl::forget(const std::string& name) const {
  MIST_TRY_VOID(pins_.forget(name));
  const Path directory = world_.paths.registries();
  const Result<std::vector<DirectoryEntry>> entries = world_.files.list(directory);
  if (!entries) return {};
  for (const DirectoryEntry& entry : *entries)
    if (is_snapshot_directory_of(name, entry.name))
      MIST_TRY_VOID(world_.files.remove_all(directory / entry.name));
  return {};
}

// "mistletoe/x/y" without a version: the local copy knows which there are.
void Registries::Impl::add_version_hint(std::string_view text, Error& failure) const {
  const Result<PackageRef> completed = PackageRef::parse(fmt::format("{}:0", text));
  if (!completed) return;
  const auto* reference = std::get_if<RegistryRef>(&completed->form());
  if (reference == nullptr) return;
  const Result<std::unique_ptr<RegistryView>> view = open(reference->registry);
  if (!view) return;
  const PackageIndex known = (*view)->known();
  const auto package = known.packages().find(reference->path);
  if (package == known.packages().end()) return;
  failure.hint = fmt::format("add a version: {}", join(package->second, ", "));
}

Registries::Registries(World world) : impl_(std::make_unique<Impl>(std::move(world))) {}
Registries::~Registries() = default;

Result<PackageRef> Registries::parse(std::string_view text) const {
  Result<PackageRef> reference = PackageRef::parse(text);
  if (reference) return reference;
  Error& failure = reference.error();
  const bool may_be_path = !text.empty() && text.size() < 4096 && text.find('\0') == std::string_view::npos &&
                           text.find("://") == std::string_view::npos;
  if (may_be_path && impl_->world().files.exists(Path(text)))
    failure.hint =
        fmt::format("did you mean ./{}? A local path begins with ./, ../ or /", escape_controls(text));
  else if (may_be_path)
    impl_->add_version_hint(text, failure);
  return reference;
}

Result<Fetched> Registries::fetch(const PackageRef& reference, const Context& context,
                                  std::string_view engine) {
  return std::visit([&](const auto& form) { return impl_->fetch(form, context, engine); }, reference.form());
}

Result<Fetched> Registries::fetch_manifest(const PackageRef& reference, const crypto::Digest& manifest,
                                           const Context& context) {
  MIST_TRY(std::optional<oci::Reference> there, impl_->trusted_oci_reference(reference));
  if (!there) return fetch(reference, context);
  there->digest = manifest;
  return impl_->fetch(*there, context, {});
}

Result<Fetched> Registries::fetch_moved(const PackageRef& reference, const Context& context) {
  MIST_TRY(const std::optional<oci::Reference> there, impl_->trusted_oci_reference(reference));
  return there ? impl_->fetch(*there, context, {}, ChangedVersions::Accept) : fetch(reference, context);
}

Result<Fetched> Registries::fetch_to_verify(const PackageRef& reference, const Context& context) {
  const auto* const named = std::get_if<RegistryRef>(&reference.form());
  return named == nullptr ? fetch(reference, context)
                          : impl_->fetch(*named, context, {}, Impl::Judged::Later);
}

Result<ChartVerdict> Registries::verify_chart(const Fetched& package,
                                              std::shared_ptr<const trust::Keyring> keyring,
                                              const Context& context) {
  return impl_->verify_chart(package, std::move(keyring), context);
}

Status Registries::check_chart(const DownloadedChart& chart, http::Transport& transport,
                               std::shared_ptr<const trust::Keyring> keyring, const Context& context) {
  return impl_->check_chart(chart, transport, std::move(keyring), context);
}

Result<std::optional<oci::Reference>> Registries::oci_reference(const PackageRef& reference) const {
  return impl_->oci_reference(reference);
}

Result<FetchedBase> Registries::fetch_base(const BaseReference& base, const Context& context) {
  return impl_->fetch_base(base, context);
}

Result<std::vector<std::string>> Registries::list_versions(const std::string& registry,
                                                           const std::string& path, const Context& context) {
  MIST_TRY(const std::optional<std::string> url, impl_->oci_url(registry, "/" + path));
  if (url) {
    MIST_TRY(const oci::Repository repository, repository_below(*url, path));
    MIST_TRY(std::vector<std::string> newest_first, list_versions(repository, context));
    std::ranges::reverse(newest_first);
    return newest_first;
  }
  MIST_TRY(const std::unique_ptr<RegistryView> view, impl_->open(registry));
  MIST_TRY(const PackageIndex index, view->index(context, impl_->refusing(registry)));
  const auto found = index.packages().find(path);
  if (found == index.packages().end())
    return version_not_found({.registry = registry, .path = path, .version = {}, .digest = {}},
                             index.packages());
  return found->second;
}

Result<std::vector<std::string>> Registries::list_versions(const oci::Repository& repository,
                                                           const Context& context) {
  MIST_TRY(OciSource* const client, oci_source());
  MIST_TRY(const std::vector<std::string> tags, client->tags(repository, context));
  std::vector<std::string> versions;
  for (const std::string& tag : oci::newest_first(tags)) versions.push_back(oci::version_of_tag(tag));
  return versions;
}

Result<OciClient*> Registries::oci_client() { return impl_->oci().client(); }

Result<OciSource*> Registries::oci_source() { return impl_->oci_source(); }

Result<std::vector<PackageVersions>> Registries::list_packages(const std::string& registry,
                                                               const Context& context) {
  MIST_TRY(const std::unique_ptr<RegistryView> view, impl_->open(registry));
  MIST_TRY(const PackageIndex index, view->index(context, impl_->refusing(registry)));
  std::vector<PackageVersions> result;
  for (const auto& [path, versions] : index.packages()) result.push_back({path, versions});
  return result;
}

Result<RegistryFile> Registries::read_file(const std::string& registry, const std::string& path,
                                           const std::string& known, const Context& context) {
  MIST_TRY(const std::unique_ptr<RegistryView> view, impl_->open(registry));
  return view->file(path, known, context, impl_->refusing(registry));
}

Result<std::vector<config::Registry>> Registries::list() const {
  MIST_TRY(const config::Config config, impl_->load());
  return std::vector(config.registries().begin(), config.registries().end());
}

Status Registries::add(const config::Registry& registry, const Context& context) {
  config::Registry stored = registry;
  for (config::Remote& remote : stored.remotes) {
    if (auto* git = std::get_if<config::GitSource>(&remote.source)) {
      MIST_TRY(const GitUrl url, GitUrl::parse(git->url, working_directory()));
      if (url.transport() == GitUrl::Transport::File) git->url = url.text();
    } else if (auto* oci = std::get_if<config::OciSource>(&remote.source)) {
      MIST_TRY(oci->url, oci::parse_prefix(oci->url));
    } else if (auto* helm = std::get_if<config::HelmSource>(&remote.source)) {
      MIST_TRY(helm->url, parse_helm_url(helm->url));
    } else {
      // Relative means "from here" on a command line, but "from the file" in the configuration.
      std::string& path = std::get<config::DirectorySource>(remote.source).path;
      path =
          std::get<LocalRef>(PackageRef(LocalRef{path}).anchored(working_directory()).form()).path.string();
    }
  }
  const World& world = impl_->world();
  return config::edit(world.files, world.paths, world.events, context,
                      [&](config::Config& config) { return config.add_registry(stored); });
}

Status Registries::remove(const std::string& name, const Context& context) {
  const World& world = impl_->world();
  MIST_TRY_VOID(config::edit(world.files, world.paths, world.events, context,
                             [&](config::Config& config) { return config.remove_registry(name); }));
  return impl_->forget(name);
}

Result<UpdateReport> Registries::update(const std::string& name, const Context& context,
                                        ChangedVersions changed) {
  MIST_TRY(const std::optional<std::string> url, impl_->oci_url(name));
  if (url) return UpdateReport{.registry = name, .before = {}, .after = {}};
  MIST_TRY(const std::unique_ptr<RegistryView> view, impl_->open(name));
  UpdateReport report;
  report.registry = name;
  MIST_TRY(RegistryView::Moved moved, view->update(context, [&](const RegistryState& state) {
    return impl_->check_pins(name, state, changed, report.accepted);
  }));
  MIST_TRY(const PackageIndex index, view->index(context, impl_->refusing(name)));
  report.before = std::move(moved.before);
  report.after = std::move(moved.after);
  report.packages = index.packages().size();
  report.versions = index.version_count();
  return report;
}

config::Registry registry_with_git(std::string name, std::string url) {
  config::Registry registry{.name = std::move(name), .default_remote = "default", .remotes = {}};
  registry.remotes.push_back({"default", config::GitSource{std::move(url)}});
  return registry;
}

config::Registry registry_with_helm(std::string name, std::string url) {
  config::Registry registry{.name = std::move(name), .default_remote = "default", .remotes = {}};
  registry.remotes.push_back({"default", config::HelmSource{std::move(url)}});
  return registry;
}

config::Registry registry_with_oci(std::string name, std::string url) {
  config::Registry registry{.name = std::move(name), .default_remote = "default", .remotes = {}};
  registry.remotes.push_back({"default", config::OciSource{std::move(url)}});
  return registry;
}

Result<oci::Repository> repository_below(const std::string& url, std::string_view path) {
  MIST_TRY(const std::string prefix, oci::parse_prefix(url));
  return oci::Repository::parse(fmt::format("{}/{}", prefix, path));
}

config::Registry registry_with_directory(std::string name, std::string path) {
  config::Registry registry{.name = std::move(name), .default_remote = "default", .remotes = {}};
  registry.remotes.push_back({"default", config::DirectorySource{std::move(path)}});
  return registry;
}

}  // namespace mist::registry
