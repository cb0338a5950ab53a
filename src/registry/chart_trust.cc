#include "registry/chart_trust.h"

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "config/redact.h"
#include "oci/layout.h"
#include "registry/chart_archive.h"
#include "registry/oci_packages.h"
#include "registry/oci_trust.h"

namespace mist::registry {
namespace {

bool proves(const std::vector<trust::Proof>& proofs) {
  return std::ranges::any_of(proofs, [](const trust::Proof& proof) { return proof.objection.empty(); });
}

}  // namespace

Path provenance_file_of(const Path& archive) {
  return Path(archive.string() + std::string(trust::kProvenanceEnding));
}

Result<ProvenanceFile> read_provenance(http::Transport& transport, const ChartServer& server,
                                       const ChartVersion& version, const Context& context) {
  ProvenanceFile file{{}, escape_controls(config::redact_urls(version.provenance_url()))};
  MIST_TRY(file.text, fetch_provenance(transport, server, version, context));
  return file;
}

Result<PackageContent> packed_chart(const std::string& name, std::string archive, const std::string& place) {
  TreeBuilder builder(place);
  MIST_TRY_VOID(builder.add(name + ".tgz", std::move(archive)));
  MIST_TRY(PackageTree tree, std::move(builder).finish());
  return PackageContent(std::move(tree));
}

Result<trust::ChartArchive> chart_archive(const PackageContent& content, const std::string& place) {
  const auto* const tree = std::get_if<PackageTree>(&content);
  if (tree == nullptr || tree->files.size() != 1 || !tree->files.front().path.ends_with(".tgz"))
    return error(ErrorKind::Invalid, "{} is not a packed chart", place)
        .with_because("Helm's provenance files are made for the archive of a chart (.tgz)")
        .with_hint("name the archive; `helm package --sign` makes it with its .prov file");
  const PackageFile& file = tree->files.front();
  MIST_TRY(const ChartFiles chart, unpack_chart(file.bytes, place));
  return trust::ChartArchive{.name = chart.manifest.name,
                             .version = chart.manifest.version,
                             .digest = crypto::sha256(file.bytes),
                             .file = file.path};
}

Result<trust::ChartArchive> repository_chart(const PackageContent& content, const std::string& place) {
  MIST_TRY(trust::ChartArchive archive, chart_archive(content, place));
  archive.file.clear();
  return archive;
}

Result<std::optional<OciChart>> read_oci_chart(OciSource& client, const oci::Repository& repository,
                                               const crypto::Digest& manifest, const Context& context) {
  const std::string name = fmt::format("{}@{}", repository.str(), manifest.str());
  MIST_TRY(const RawManifest raw, client.manifest(repository, manifest.str(), context));
  MIST_TRY(const oci::Manifest document, package_manifest(client, repository, raw, name, context));
  const Result<oci::Content> content = oci::content_of(document, name);
  if (!content || content->kind != oci::ContentKind::Chart) return std::optional<OciChart>();
  MIST_TRY(const std::optional<oci::Descriptor> layer, oci::provenance_layer(document, name));
  OciChart chart{.archive = {},
                 .provenance = {{}, fmt::format("layer {} in {}", oci::kChartProvenanceType, name)}};
  // Without it there is nothing to hold the archive against.
  if (!layer) return std::optional(std::move(chart));
  MIST_TRY(chart.provenance.text, client.blob(repository, *layer, trust::kMaxProvenanceBytes, context));
  MIST_TRY(const std::string bytes, client.blob(repository, content->layer, kMaxPackageBytes, context));
  // The manifest's config says a name and a version too, but nobody holds it against the archive.
  MIST_TRY(const ChartFiles files, unpack_chart(bytes, name));
  chart.archive = trust::ChartArchive{
      .name = files.manifest.name, .version = files.manifest.version, .digest = content->layer.digest};
  return std::optional(std::move(chart));
}

Result<ChartProofs> prove_chart(OciTrust& trust, const trust::Subject& subject,
                                const trust::ChartArchive& archive, const trust::Keyring& keyring,
                                const ReadProvenance& read, KeepText keep, const Context& context) {
  ChartProofs chart;
  std::optional<trust::KeptProvenance> kept;
  if (keep == KeepText::Yes) {
    MIST_TRY(kept, trust.kept_provenance(subject));
  }
  if (kept && kept->archive.digest == archive.digest) {
    MIST_TRY(trust::Proof proof, trust.prove(kept->text, archive, keyring, context));
    chart.proofs.push_back(std::move(proof));
    if (proves(chart.proofs)) return chart;
  }
  // It may have been signed again, with another key.
  Result<ProvenanceFile> file = read();
  if (!file) {
    const bool is_away = file.error().kind == ErrorKind::Retryable;
    if (is_away && !chart.proofs.empty()) return chart;
    return std::move(file).error();
  }
  if (!file->text) {
    if (chart.proofs.empty()) chart.missing = file->place;
    return chart;
  }
  if (kept && kept->text == *file->text) return chart;
  MIST_TRY(trust::Proof proof, trust.prove(*file->text, archive, keyring, context));
  chart.proofs = {std::move(proof)};
  if (keep == KeepText::Yes && proves(chart.proofs))
    MIST_TRY_VOID(trust.keep_provenance(subject, {*file->text, archive}));
  return chart;
}

trust::Subject chart_subject(const RegistryRef& reference, const crypto::Digest& digest) {
  return {fmt::format("{}:{}", package_of(reference), reference.version), digest};
}

namespace {

// A chart that was verified stays signed by the same key. A provenance file doesn't hold its key, so a chart
// that nobody verified is known by none.
Status check_known(OciTrust& trust, const RegistryRef& reference, const PackageContent& content,
                   const crypto::Digest& digest, const ReadProvenance& read, const Context& context) {
  const std::string package = package_of(reference);
  MIST_TRY(const std::shared_ptr<const trust::Keyring> keyring, trust.known_keyring(package));
  if (keyring == nullptr) return {};
  const trust::Subject subject = chart_subject(reference, digest);
  MIST_TRY(const bool was_examined, trust.was_examined(subject));
  if (was_examined) return {};
  MIST_TRY(const trust::ChartArchive archive, repository_chart(content, PackageRef(reference).display()));
  MIST_TRY(const ChartProofs chart,
           prove_chart(trust, subject, archive, *keyring, read, KeepText::Yes, context));
  return trust.judge_known(subject, package, chart.proofs);
}

}  // namespace

Status check_chart_trust(OciTrust& trust, const RegistryRef& reference, const PackageContent& content,
                         const crypto::Digest& digest, const ReadProvenance& read, const Context& context) {
  MIST_TRY(const trust::Rule rule, trust.rule_for(package_of(reference)));
  if (trust::remembers(rule.mode)) return check_known(trust, reference, content, digest, read, context);
  if (rule.mode != trust::Mode::Require) return {};
  const std::string name = PackageRef(reference).display();
  if (rule.keyring == nullptr)
    return error(ErrorKind::Forbidden, "the trust policy's rule {} can't be held for {}", rule.match, name)
        .with_because(fmt::format(
            "{} is a chart repository, and charts there are signed with OpenPGP (.prov)", reference.registry))
        .with_hint(
            fmt::format("give the rule ({}) a keyring in place of keys: keyring: team.gpg", rule.place));
  const trust::Subject subject = chart_subject(reference, digest);
  MIST_TRY(const bool is_known, trust.suffices(subject, rule));
  if (is_known) return {};
  MIST_TRY(const trust::ChartArchive archive, repository_chart(content, name));
  MIST_TRY(const ChartProofs chart,
           prove_chart(trust, subject, archive, *rule.keyring, read, KeepText::Yes, context));
  return trust.judge_and_record(subject, rule, chart.proofs, chart.missing);
}

}  // namespace mist::registry
