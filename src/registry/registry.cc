#include "registry/registry.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/text.h"
#include "base/url.h"
#include "config/cache_limits.h"
#include "oci/tags.h"
#include "registry/chart_judge.h"
#include "registry/configured_registries.h"
#include "registry/copy_maker.h"
#include "registry/git.h"
#include "registry/git_fetcher.h"
#include "registry/known_packages.h"
#include "registry/kustomization.h"
#include "registry/local_source.h"
#include "registry/oci_fetcher.h"
#include "registry/oci_packages.h"
#include "registry/oci_trust.h"
#include "registry/registry_fetcher.h"
#include "wasm/module_files.h"

namespace mist::registry {

namespace {

// A snapshot that its cache can't hold would fill the volume that this is on.
GitLimits git_limits(const config::Paths& paths) {
  if (!paths.cache_limit) return {};
  constexpr config::CacheLimits kNoOther{.registries = std::numeric_limits<std::uint64_t>::max()};
  const std::uint64_t share = kNoOther.within(paths.cache_limit).registries;
  return {.largest_pack = std::min(kLargestPack, share), .snapshots = share};
}

}  // namespace

// The parts, each made of those before it.
struct Registries::Impl {
  explicit Impl(Dependencies given)
      : dependencies(std::move(given)),
        git(dependencies.processes, git_limits(dependencies.paths)),
        modules(dependencies.paths.compiled_code(), dependencies.files, dependencies.clock),
        configured(dependencies.files, dependencies.events, dependencies.paths, git, dependencies.oci),
        known(dependencies.files, dependencies.events, dependencies.paths, configured),
        session(dependencies.oci, dependencies.files, dependencies.processes, dependencies.events, configured,
                dependencies.mirrors),
        policy(dependencies.files, dependencies.paths, dependencies.clock, dependencies.events,
               dependencies.check_provenance, dependencies.recorded),
        copies(session),
        charts(dependencies.files, dependencies.clock, configured, known, session, policy),
        git_fetcher(dependencies.files, dependencies.events, dependencies.paths, git, known, copies),
        oci_fetcher(dependencies.events, known, session, policy, dependencies.signers),
        registry_fetcher(configured, known, oci_fetcher, charts, policy),
        copy_maker(configured, known, registry_fetcher, git_fetcher) {
    configured.read_through(copies);
  }

  /// How a package is fetched.
  struct Manner {
    std::string_view engine = {};
    RegistryFetcher::Judged judged = RegistryFetcher::Judged::Here;
    MayKeep may_keep = {};
  };
  Result<Fetched> fetch(const RegistryRef& reference, const Context& context, const Manner& manner) const {
    return registry_fetcher.fetch(reference, context, manner.judged, manner.may_keep);
  }
  // No rule is for packages of git: a commit has no other bytes. But where the policy can't be read, nothing
  // is used.
  Status check_policy() {
    const auto rule = policy.rule_for({});
    return rule.ok() ? Status() : Status(rule.error());
  }
  Result<Fetched> fetch(const GitRef& reference, const Context& context, const Manner& manner) {
    MIST_TRY_VOID(check_policy());
    return git_fetcher.fetch(reference, context, manner.engine);
  }
  Result<Fetched> fetch(const oci::Reference& reference, const Context& context, const Manner& manner) const {
    return oci_fetcher.fetch(reference, context, ChangedVersions::Refuse, manner.may_keep);
  }
  // Nothing is remembered of it.
  Result<Fetched> fetch(const LocalRef& reference, const Context& context, const Manner& manner) const;
  Result<Fetched> fetch(const PackageRef& reference, const Context& context, const Manner& manner) {
    return std::visit([&](const auto& form) { return fetch(form, context, manner); }, reference.form());
  }
  Result<VerifiedPackage> fetch_verified(const PackageRef& reference,
                                         const std::shared_ptr<const trust::Keyring>& keyring, Manner manner,
                                         const Context& context);

  void add_version_hint(std::string_view text, Error& failure) const;

  const Dependencies dependencies;
  const Git git;
  const wasm::ModuleFiles modules;
  ConfiguredRegistries configured;
  const KnownPackages known;
  OciSession session;
  OciTrust policy;
  const AddressCopies copies;
  const ChartJudge charts;
  const GitFetcher git_fetcher;
  const OciFetcher oci_fetcher;
  const RegistryFetcher registry_fetcher;
  const CopyMaker copy_maker;
};

Result<Fetched> Registries::Impl::fetch(const LocalRef& reference, const Context& context,
                                        const Manner& manner) const {
  MIST_TRY_VOID(context.check());
  PackageRef resolved = PackageRef(reference).anchored(working_directory());
  const Path& path = std::get<LocalRef>(resolved.form()).path;
  std::optional<PackageTree> kustomization;
  if (!dependencies.is_unpacked && may_be_kustomize(manner.engine) &&
      dependencies.files.is_directory(reference.path)) {
    MIST_TRY(kustomization, read_local_kustomization(dependencies.files, reference.path));
  }
  std::optional<PackageContent> content;
  if (kustomization) {
    content = *std::move(kustomization);
  } else {
    MIST_TRY(content, read_local(dependencies.files, modules, reference.path));
  }
  const crypto::Digest digest = digest_of(*content);
  std::string origin = path.string();
  return Fetched{*std::move(content), digest, std::move(resolved), std::move(origin)};
}

Result<VerifiedPackage> Registries::Impl::fetch_verified(const PackageRef& reference,
                                                         const std::shared_ptr<const trust::Keyring>& keyring,
                                                         Manner manner, const Context& context) {
  std::optional<ChartVerdict> verdict;
  const MayKeep may_keep = std::move(manner.may_keep);
  manner.may_keep = [&](const Fetched& package) -> Result<bool> {
    MIST_TRY(verdict, charts.verify(package, keyring, context));
    return verdict->judged.ok() && may_keep ? may_keep(package) : Result<bool>(verdict->judged.ok());
  };
  MIST_TRY(Fetched package, fetch(reference, context, manner));
  // Nobody asked: its bytes were known before, or never are.
  if (!verdict) {
    MIST_TRY(verdict, charts.verify(package, keyring, context));
  }
  return VerifiedPackage{std::move(package), *std::move(verdict)};
}

// "mistletoe/x/y" without a version: the local copy knows which there are.
void Registries::Impl::add_version_hint(std::string_view text, Error& failure) const {
  const Result<PackageRef> completed = PackageRef::parse(fmt::format("{}:0", text));
  if (!completed) return;
  const auto* reference = std::get_if<RegistryRef>(&completed->form());
  if (reference == nullptr) return;
  const Result<std::unique_ptr<RegistryView>> view = configured.open(reference->registry);
  if (!view) return;
  const PackageIndex there = (*view)->known();
  const auto package = there.packages().find(reference->path);
  if (package == there.packages().end()) return;
  failure.hint = fmt::format("add a version: {}", join(package->second, ", "));
}

Registries::Registries(Dependencies dependencies) : impl_(std::make_unique<Impl>(std::move(dependencies))) {}
Registries::~Registries() = default;

Result<PackageRef> Registries::parse(std::string_view text) const {
  Result<PackageRef> reference = PackageRef::parse(text);
  if (reference) return reference;
  Error& failure = reference.error();
  const bool may_be_path =
      !text.empty() && text.size() < 4096 && text.find('\0') == std::string_view::npos && !is_url(text);
  if (may_be_path && impl_->dependencies.files.exists(Path(text)))
    failure.hint =
        fmt::format("did you mean ./{}? A local path begins with ./, ../ or /", escape_controls(text));
  else if (may_be_path)
    impl_->add_version_hint(text, failure);
  return reference;
}

Result<Fetched> Registries::fetch(const PackageRef& reference, const Context& context,
                                  std::string_view engine, MayKeep may_keep) {
  return impl_->fetch(reference, context, Impl::Manner{.engine = engine, .may_keep = std::move(may_keep)});
}

Result<Fetched> Registries::fetch_manifest(const PackageRef& reference, const crypto::Digest& manifest,
                                           const Context& context) {
  MIST_TRY(std::optional<oci::Reference> there, impl_->registry_fetcher.oci_reference(reference));
  if (!there) return fetch(reference, context);
  there->digest = manifest;
  return impl_->oci_fetcher.fetch(*there, context);
}

Result<Fetched> Registries::fetch_moved(const PackageRef& reference, const Context& context) {
  MIST_TRY(const std::optional<oci::Reference> there, impl_->registry_fetcher.oci_reference(reference));
  return there ? impl_->oci_fetcher.fetch(*there, context, ChangedVersions::Accept)
               : fetch(reference, context);
}

Result<std::optional<UsedSigners>> Registries::signers_of(const PackageRef& fetched) {
  const auto* const there = std::get_if<oci::Reference>(&fetched.form());
  if (there == nullptr || !there->digest) return std::optional<UsedSigners>();
  return impl_->policy.signers_of({there->repository.identity(), *there->digest});
}

Status Registries::check_bytes(const oci::Reference& tagged, const RawManifest& raw, const Context& context) {
  return impl_->oci_fetcher.check_bytes(tagged, raw, context);
}

Status Registries::accept_bytes(OciSource& source, const oci::Reference& tagged, const RawManifest& raw,
                                const Context& context) {
  return impl_->oci_fetcher.accept_bytes(source, tagged, raw, context);
}

Result<VerifiedPackage> Registries::fetch_verified(const PackageRef& reference,
                                                   std::shared_ptr<const trust::Keyring> keyring,
                                                   const Context& context, std::string_view engine,
                                                   MayKeep may_keep) {
  return impl_->fetch_verified(reference, keyring,
                               Impl::Manner{.engine = engine, .may_keep = std::move(may_keep)}, context);
}

Result<VerifiedPackage> Registries::fetch_to_verify(const PackageRef& reference,
                                                    std::shared_ptr<const trust::Keyring> keyring,
                                                    const Context& context) {
  return impl_->fetch_verified(reference, keyring, Impl::Manner{.judged = RegistryFetcher::Judged::Later},
                               context);
}

Result<ProvenanceFile> Registries::provenance(const Fetched& package, const Context& context) {
  return impl_->charts.provenance(package, context);
}

Result<std::string> Registries::checked_archive(DownloadedChart chart, http::Transport& transport,
                                                std::shared_ptr<const trust::Keyring> keyring,
                                                const Context& context) {
  return impl_->charts.checked_archive(std::move(chart), transport, std::move(keyring), context);
}

Result<std::optional<AddressCopy>> Registries::copy_of(const PackageRef& reference, const Context& context) {
  if (const auto* const named = std::get_if<RegistryRef>(&reference.form()))
    return impl_->copy_maker.of(*named, context);
  if (const auto* const git = std::get_if<GitRef>(&reference.form()))
    return impl_->copy_maker.of(*git, context);
  return std::optional<AddressCopy>();
}

Result<std::optional<AddressCopy>> Registries::copy_of_index(const std::string& registry,
                                                             const Context& context) {
  return impl_->copy_maker.index_of(registry, context);
}

const AddressCopies& Registries::copies() const { return impl_->copies; }

Result<std::optional<oci::Reference>> Registries::oci_reference(const PackageRef& reference) const {
  return impl_->configured.oci_reference(reference);
}

Result<FetchedBase> Registries::fetch_base(const BaseReference& base, const Context& context) {
  MIST_TRY_VOID(impl_->check_policy());
  return impl_->git_fetcher.fetch_base(base, context);
}

Result<std::vector<std::string>> Registries::list_versions(const std::string& registry,
                                                           const std::string& path, const Context& context) {
  MIST_TRY(const std::optional<std::string> url, impl_->configured.oci_url(registry, "/" + path));
  if (url) {
    MIST_TRY(const oci::Repository repository, repository_below(*url, path));
    MIST_TRY(std::vector<std::string> newest_first, list_versions(repository, context));
    std::ranges::reverse(newest_first);
    return newest_first;
  }
  MIST_TRY(const std::unique_ptr<RegistryView> view, impl_->configured.open(registry));
  return view->versions(registry, path, context, impl_->known.refusing(registry));
}

Result<std::vector<std::string>> Registries::newest_versions(const std::string& registry,
                                                             const std::string& path,
                                                             const Context& context) {
  MIST_TRY(const std::optional<std::string> url, impl_->configured.oci_url(registry, "/" + path));
  if (url) return list_versions(registry, path, context);
  MIST_TRY(const std::unique_ptr<RegistryView> view, impl_->configured.open(registry));
  return view->newest_versions(registry, path, context, impl_->known.refusing(registry));
}

Result<std::vector<std::string>> Registries::list_versions(const oci::Repository& repository,
                                                           const Context& context) {
  MIST_TRY(OciSource* const client, oci_source());
  MIST_TRY(const std::vector<std::string> tags, client->tags(repository, context));
  std::vector<std::string> versions;
  for (const std::string& tag : oci::newest_first(oci::fixed_versions(tags)))
    versions.push_back(oci::version_of_tag(tag));
  if (versions.empty() && !oci::newest_first(tags).empty())
    return naming_tags(error(ErrorKind::NotFound, "no tag of {} is a whole version", repository.str()),
                       repository, tags);
  return versions;
}

Result<OciClient*> Registries::oci_client() { return impl_->session.client(); }

Result<OciSource*> Registries::oci_source() { return impl_->session.source(); }

Result<std::vector<PackageVersions>> Registries::list_packages(const std::string& registry,
                                                               const Context& context) {
  MIST_TRY(const std::unique_ptr<RegistryView> view, impl_->configured.open(registry));
  MIST_TRY(const PackageIndex index, view->index(context, impl_->known.refusing(registry)));
  std::vector<PackageVersions> result;
  for (const auto& [path, versions] : index.packages()) result.push_back({path, versions});
  return result;
}

Result<RegistryFile> Registries::read_file(const std::string& registry, const std::string& path,
                                           const std::string& known, const Context& context) {
  MIST_TRY(const std::unique_ptr<RegistryView> view, impl_->configured.open(registry));
  return view->file(path, known, context, impl_->known.refusing(registry));
}

Result<std::vector<config::Registry>> Registries::list() const {
  MIST_TRY(const config::Config config, impl_->configured.load());
  return std::vector(config.registries().begin(), config.registries().end());
}

Result<std::set<std::string>> Registries::configured_hosts() const { return impl_->configured.hosts(); }

Status Registries::add(const config::Registry& registry, const Context& context) {
  return impl_->configured.add(registry, context);
}

Status Registries::remove(const std::string& name, const Context& context) {
  MIST_TRY_VOID(impl_->configured.remove(name, context));
  return impl_->known.forget(name);
}

Result<UpdateReport> Registries::update(const std::string& name, const Context& context,
                                        ChangedVersions changed) {
  MIST_TRY(const std::optional<std::string> url, impl_->configured.oci_url(name));
  if (url) return UpdateReport{.registry = name, .before = {}, .after = {}};
  MIST_TRY(const std::unique_ptr<RegistryView> view, impl_->configured.open(name));
  UpdateReport report;
  report.registry = name;
  MIST_TRY(RegistryView::Moved moved, view->update(context, [&](const RegistryState& state) {
    return impl_->known.check_pins(name, state, changed, report.accepted);
  }));
  MIST_TRY(const PackageIndex index, view->index(context, impl_->known.refusing(name)));
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

config::Registry registry_with_catalog(std::string name, std::string url) {
  config::Registry registry{.name = std::move(name), .default_remote = "default", .remotes = {}};
  registry.remotes.push_back({"default", config::CatalogSource{std::move(url)}});
  return registry;
}

config::Registry registry_with_oci(std::string name, std::string url) {
  config::Registry registry{.name = std::move(name), .default_remote = "default", .remotes = {}};
  registry.remotes.push_back({"default", config::OciSource{std::move(url)}});
  return registry;
}

config::Registry registry_with_directory(std::string name, std::string path) {
  config::Registry registry{.name = std::move(name), .default_remote = "default", .remotes = {}};
  registry.remotes.push_back({"default", config::DirectorySource{std::move(path)}});
  return registry;
}

}  // namespace mist::registry
