#include "registry/subchart_source.h"

#include <algorithm>
#include <memory>
#include <set>
#include <variant>
#include <vector>

#include "base/text.h"
#include "base/url.h"
#include "config/redact.h"
#include "encoding/semver.h"
#include "oci/tags.h"
#include "registry/chart_trust.h"
#include "registry/mirrored_chart.h"
#include "registry/oci_packages.h"

namespace mist::registry {
namespace {

using encoding::SemVer;
using encoding::SemVerRange;

constexpr std::string_view kFile = "file://";
constexpr std::string_view kGit = "git+";

// "oci://host/team" and "db": the chart's own repository there.
std::string oci_place(const ChartDependency& dependency) {
  std::string_view base = dependency.repository;
  while (base.ends_with('/') && base != oci::kScheme) base.remove_suffix(1);
  return fmt::format("{}/{}", base, dependency.name);
}

std::string repository_text(std::string_view repository) {
  return escape_controls(config::redact_urls(repository));
}

// "@stable" and "alias:stable" are "stable".
std::optional<std::string_view> known_name(std::string_view repository) {
  for (const std::string_view prefix : {std::string_view("@"), std::string_view("alias:")})
    if (repository.starts_with(prefix)) return repository.substr(prefix.size());
  return std::nullopt;
}

Error no_version_here(const ChartDependency& wanted, std::string_view there) {
  return error(ErrorKind::NotFound, "there is no version {} of the chart {} in {}",
               escape_controls(wanted.version), escape_controls(wanted.name),
               repository_text(wanted.repository))
      .with_hint(fmt::format("the version there: {}", escape_controls(there)));
}

Error no_provenance(const ChartDependency& wanted) {
  return error(ErrorKind::Invalid, "the chart {} in {} has no provenance file", escape_controls(wanted.name),
               repository_text(wanted.repository))
      .with_because("charts in git repositories are protected by their commit")
      .with_hint("leave --verify out, or name a chart repository or an OCI registry in Chart.yaml");
}

// Refuses a chart that is no use in charts/: Helm silently leaves out one of another name or version.
Status check_is_it(const ChartDependency& wanted, const ChartManifest& manifest) {
  if (manifest.name != wanted.name)
    return error(ErrorKind::Invalid, "the chart {} in {} is called {} in its Chart.yaml",
                 escape_controls(wanted.name), repository_text(wanted.repository),
                 escape_controls(manifest.name))
        .with_hint("name it so, and give it an alias if templates know it by another name");
  return {};
}

// The tag of an OCI registry isn't part of the archive: an old version could be given the tag of a new one.
Status check_tagged_version(const ChartDependency& wanted, const ChartManifest& manifest) {
  if (oci::fits_version(oci::tag_of_version(wanted.version), manifest.version)) return {};
  return error(ErrorKind::Invalid, "{}:{} isn't the version that its tag says",
               repository_text(oci_place(wanted)), escape_controls(wanted.version))
      .with_because(fmt::format("its Chart.yaml says {} {}", escape_controls(manifest.name),
                                escape_controls(manifest.version)))
      .with_hint("ask whoever publishes it, or name another version in Chart.yaml");
}

}  // namespace

Result<bool> fits_as_helm(const std::string& range, std::string_view version) {
  MIST_TRY(const SemVerRange parsed, SemVerRange::parse(range.empty() ? "*" : range));
  const Result<SemVer> number = SemVer::parse_lenient(version);
  return number.ok() && parsed.contains_as_helm(*number);
}

SubchartSource::SubchartSource(Dependencies dependencies, Path chart)
    : dependencies_(std::move(dependencies)), chart_(std::move(chart)) {}

Result<ChartDependency> SubchartSource::resolved(ChartDependency wanted) const {
  const std::string& repository = wanted.repository;
  if (const auto name = known_name(repository)) {
    const auto found = std::ranges::find(dependencies_.repositories, *name, &HelmRepository::name);
    if (found == dependencies_.repositories.end())
      return error(ErrorKind::NotFound, "the dependency {} names the repository {}, which is not known here",
                   wanted.name, escape_controls(repository))
          .with_hint(fmt::format("`helm repo add {} URL` names it, or write its URL into Chart.yaml",
                                 escape_controls(*name)));
    wanted.repository = found->url;
    return wanted;
  }
  const bool known = repository.empty() || repository.starts_with(kFile) || repository.starts_with(kGit) ||
                     repository.starts_with(oci::kScheme) || is_http(repository);
  if (known) return wanted;
  return error(ErrorKind::Invalid, "the dependency {} has the repository {}, which is not an address",
               wanted.name, repository_text(repository))
      .with_hint("write https://…, oci://…, file://PATH, git+https://…, or @NAME for one that Helm knows");
}

bool SubchartSource::is_directory(const ChartDependency& dependency) const {
  return dependency.repository.starts_with(kFile) || dependency.repository.starts_with(kGit);
}

Result<const ChartFiles*> SubchartSource::directory(const ChartDependency& dependency,
                                                    const Context& context) {
  const std::string& repository = dependency.repository;
  return directories_.get(repository, [&]() -> Result<ChartFiles> {
    std::optional<PackageRef> reference;
    if (repository.starts_with(kFile)) {
      const Path path = repository.substr(kFile.size());
      reference = PackageRef(LocalRef{(path.is_absolute() ? path : chart_ / path).lexically_normal()});
    } else {
      if (dependencies_.keyring != nullptr) return no_provenance(dependency);
      MIST_TRY(reference, PackageRef::parse(repository));
    }
    MIST_TRY(Fetched fetched, dependencies_.registries.fetch(*reference, context)
                                  .in(fmt::format("while fetching the dependency {}", dependency.name)));
    auto* const tree = std::get_if<PackageTree>(&fetched.content);
    if (tree == nullptr)
      return error(ErrorKind::Invalid, "{} is a module, and no chart", repository_text(repository));
    return chart_of(std::move(*tree), repository_text(repository));
  });
}

http::Transport& SubchartSource::web() {
  std::call_once(web_made_, [this] { web_ = dependencies_.transport(); });
  return *web_;
}

Result<const ChartIndex*> SubchartSource::index(const std::string& repository, const Context& context) {
  return indexes_.get(repository, [&]() -> Result<ChartIndex> {
    MIST_TRY(ChartServer server, server_of(repository, dependencies_.repositories, dependencies_.plain));
    return ChartIndex::fetch(web(), std::move(server), context);
  });
}

Result<std::string> SubchartSource::newest_tag(const ChartDependency& wanted, const Context& context) {
  // As Helm: what is one version isn't looked for.
  if (SemVer::parse_lenient(wanted.version).ok()) return wanted.version;
  MIST_TRY(const SemVerRange range, SemVerRange::parse(wanted.version.empty() ? "*" : wanted.version));
  MIST_TRY(const oci::Repository repository, oci::Repository::parse(oci_place(wanted)));
  MIST_TRY(OciSource* const source, dependencies_.registries.oci_source());
  MIST_TRY(const std::vector<std::string> tags, source->tags(repository, context));
  for (const std::string& tag : oci::newest_first(oci::fixed_versions(tags))) {
    std::string version = oci::version_of_tag(tag);
    const Result<SemVer> number = SemVer::parse_lenient(version);
    if (number.ok() && range.contains_as_helm(*number)) return version;
  }
  return naming_tags(error(ErrorKind::NotFound, "there is no version {} of {}",
                           escape_controls(wanted.version), repository.str()),
                     repository, tags);
}

Result<std::string> SubchartSource::newest(const ChartDependency& wanted, const Context& context) {
  if (is_directory(wanted)) {
    MIST_TRY(const ChartFiles* const chart, directory(wanted, context));
    MIST_TRY(const bool fits, fits_as_helm(wanted.version, chart->manifest.version));
    if (!fits) return no_version_here(wanted, chart->manifest.version);
    return chart->manifest.version;
  }
  if (wanted.repository.starts_with(oci::kScheme)) return newest_tag(wanted, context);
  MIST_TRY(std::optional<std::string> copied,
           newest_chart_copy(dependencies_.registries.copies(),
                             {wanted.repository, wanted.name, wanted.version}, context));
  if (copied) return *std::move(copied);
  MIST_TRY(const ChartIndex* const there, index(wanted.repository, context));
  MIST_TRY(const ChartVersion found, there->newest(wanted.name, wanted.version));
  return found.version;
}

Result<Fetched> SubchartSource::fetched_from_oci(const PackageRef& reference, const MayKeep& may_keep,
                                                 const Context& context) {
  if (dependencies_.keyring == nullptr)
    return dependencies_.registries.fetch(reference, context, {}, may_keep);
  MIST_TRY(VerifiedPackage verified,
           dependencies_.registries.fetch_verified(reference, dependencies_.keyring, context, {}, may_keep));
  MIST_TRY_VOID(std::move(verified.verdict.judged));
  return std::move(verified.package);
}

Result<std::string> SubchartSource::from_oci(const oci::Reference& reference, const CheckArchive& check,
                                             const Context& context) {
  std::optional<std::string> archive;
  // Before the tag is pinned, and signers are remembered: a wrong chart would refuse the right one.
  const MayKeep keeps = [&](const Fetched& fetched) -> Result<bool> {
    const auto* const tree = std::get_if<PackageTree>(&fetched.content);
    const auto* const there = std::get_if<oci::Reference>(&fetched.resolved.form());
    if (tree == nullptr || tree->files.size() != 1 || there == nullptr)
      return error(ErrorKind::Invalid, "{} is not a chart", reference.str())
          .with_hint("charts are pushed with helm push, or with mistctl push");
    MIST_TRY_VOID(check(tree->files.front().bytes, fetched));
    archive = tree->files.front().bytes;
    return true;
  };
  MIST_TRY_VOID(fetched_from_oci(PackageRef(reference), keeps, context));
  return *std::move(archive);
}

// An index leads to OCI registries no further than to files, since they are asked with this user's
// credentials; but to those that the configuration names.
Result<oci::Reference> SubchartSource::oci_reference(const ChartServer& server,
                                                     const ChartVersion& version) const {
  MIST_TRY(oci::Reference there, oci::Reference::parse(version.url));
  if (!there.range.empty())
    return error(ErrorKind::Invalid, "{} is a range, and the index of {} has it for the chart {} {}",
                 there.str(), repository_text(server.url), escape_controls(version.chart),
                 escape_controls(version.version))
        .with_hint("ask the owner of the repository: an entry of its index leads to one version");
  if (server.redirects == RedirectScope::Anywhere) return there;
  const std::string address = fmt::format("https://{}/", oci::api_host(there.repository.host));
  MIST_TRY(const bool is_limited, judged_hop({.repository = server.url}, server.url, address));
  MIST_TRY(const std::set<std::string> configured, dependencies_.registries.configured_hosts());
  there.repository.public_only = is_limited && !configured.contains(there.repository.host_name());
  return there;
}

Result<SubchartSource::RepositoryArchive> SubchartSource::from_repository(const ChartIndex& index,
                                                                          const ChartVersion& version,
                                                                          const Context& context) {
  ReadProvenance provenance;
  if (version.url.starts_with(oci::kScheme)) {
    MIST_TRY(const oci::Reference there, oci_reference(index.server(), version));
    const auto check = [&](const std::string& archive, const Fetched& artifact) -> Status {
      // Helm writes the digest of the archive into an index. Others that list an OCI registry write that of
      // the manifest, by which the registry names the chart.
      std::vector<crypto::Digest> digests{crypto::sha256(archive)};
      const auto& manifest = std::get<oci::Reference>(artifact.resolved.form()).digest;
      if (manifest) digests.push_back(*manifest);
      MIST_TRY_VOID(check_index_digest(version, digests));
      provenance = [this, kept = std::make_shared<const Fetched>(artifact), context] {
        return dependencies_.registries.provenance(*kept, context);
      };
      // --verify is held there already.
      MIST_TRY_VOID(dependencies_.registries.checked_archive({index.server(), version, archive, provenance},
                                                             web(), nullptr, context));
      return {};
    };
    MIST_TRY(std::string archive, from_oci(there, check, context));
    return RepositoryArchive{std::move(archive), std::move(provenance)};
  }
  provenance = [this, server = index.server(), version, context] {
    return read_provenance(web(), server, version, context);
  };
  MIST_TRY(DownloadedChart chart, index.download(web(), version, context));
  MIST_TRY(std::string archive,
           dependencies_.registries.checked_archive(std::move(chart), web(), dependencies_.keyring, context));
  return RepositoryArchive{std::move(archive), std::move(provenance)};
}

Result<PackedSubchart> SubchartSource::fetch(const ChartDependency& locked, const Context& context) {
  PackedSubchart packed;
  if (is_directory(locked)) {
    MIST_TRY(const ChartFiles* const chart, directory(locked, context));
    MIST_TRY_VOID(check_is_it(locked, chart->manifest));
    MIST_TRY(const bool fits, fits_as_helm(locked.version, chart->manifest.version));
    if (!fits) return no_version_here(locked, chart->manifest.version);
    packed.version = chart->manifest.version;
    packed.file = fmt::format("{}-{}.tgz", locked.name, packed.version);
    MIST_TRY(packed.archive, pack_chart(chart->tree, locked.name));
    return packed;
  }
  if (locked.repository.starts_with(oci::kScheme)) {
    packed.file = fmt::format("{}-{}.tgz", locked.name, locked.version);
    MIST_TRY(
        const oci::Reference reference,
        oci::Reference::parse(fmt::format("{}:{}", oci_place(locked), oci::tag_of_version(locked.version))));
    const auto check = [&](const std::string& archive, const Fetched& /*artifact*/) -> Status {
      MIST_TRY(const ChartFiles chart, unpack_chart(archive, packed.file));
      MIST_TRY_VOID(check_is_it(locked, chart.manifest));
      MIST_TRY_VOID(check_tagged_version(locked, chart.manifest));
      packed.version = chart.manifest.version;
      return {};
    };
    MIST_TRY(packed.archive, from_oci(reference, check, context));
    return packed;
  }
  MIST_TRY(ChartServer server, server_of(locked.repository, dependencies_.repositories, dependencies_.plain));
  MIST_TRY(std::optional<DownloadedChart> copy,
           find_chart_copy(dependencies_.registries.copies(), std::move(server),
                           {locked.repository, locked.name, locked.version}, context));
  if (copy) {
    packed.file = copy->version().file_name();
    MIST_TRY(packed.archive, dependencies_.registries.checked_archive(*std::move(copy), web(),
                                                                      dependencies_.keyring, context));
  } else {
    MIST_TRY(const ChartIndex* const there, index(locked.repository, context));
    MIST_TRY(const ChartVersion version, there->find(locked.name, locked.version));
    packed.file = version.file_name();
    MIST_TRY(RepositoryArchive archive, from_repository(*there, version, context));
    packed.archive = std::move(archive.bytes);
  }
  MIST_TRY(const ChartFiles chart, unpack_chart(packed.archive, packed.file));
  MIST_TRY_VOID(check_is_it(locked, chart.manifest));
  packed.version = chart.manifest.version;
  return packed;
}

Result<std::optional<AddressCopy>> SubchartSource::copy_of(const ChartDependency& locked,
                                                           const Context& context) {
  if (!is_http(locked.repository)) return std::optional<AddressCopy>();
  std::optional<AddressName> name = AddressName::of(chart_address(locked.repository), locked.name);
  if (!name) return std::optional<AddressCopy>();
  MIST_TRY(const ChartIndex* const there, index(locked.repository, context));
  MIST_TRY(const ChartVersion version, there->find(locked.name, locked.version));
  MIST_TRY(RepositoryArchive archive, from_repository(*there, version, context));
  MIST_TRY(ProvenanceFile provenance, archive.provenance());
  MIST_TRY(AddressCopy copy, copy_of_chart(*std::move(name), version.version, std::move(archive.bytes),
                                           {.provenance = std::move(provenance.text).value_or("")}));
  return std::optional(std::move(copy));
}

}  // namespace mist::registry
