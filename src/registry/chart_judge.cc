#include "registry/chart_judge.h"

#include <utility>
#include <variant>

#include "base/text.h"
#include "config/config.h"
#include "config/redact.h"
#include "trust/chart_address.h"

namespace mist::registry {
namespace {

Result<ProvenanceFile> read_local_provenance(const FileSystem& files, const Path& path) {
  ProvenanceFile file{{}, escape_controls(path.string())};
  Result<std::string> text = files.read(path, trust::kMaxProvenanceBytes);
  if (text)
    file.text = *std::move(text);
  else if (text.error().kind != ErrorKind::NotFound)
    return std::move(text).error();
  return file;
}

Error has_none(const std::string& name) {
  return error(ErrorKind::Invalid, "{} has no provenance file", name)
      .with_because("packages in git repositories are protected by their commit");
}

trust::Rule rule_of(std::shared_ptr<const trust::Keyring> keyring) {
  return {.match = {}, .mode = trust::Mode::Require, .keys = {}, .keyring = std::move(keyring)};
}

}  // namespace

ChartJudge::ChartJudge(const FileSystem& files, const Clock& clock, const ConfiguredRegistries& configured,
                       const KnownPackages& known, OciSession& oci, OciTrust& trust)
    : files_(files), clock_(clock), configured_(configured), known_(known), oci_(oci), trust_(trust) {}

Status ChartJudge::check(std::string_view url, RegistryRef chart, const PackageContent& content,
                         const crypto::Digest& digest, const ReadProvenance& read,
                         const Context& context) const {
  MIST_TRY(const std::vector<std::string> names, names_of(url));
  for (const std::string& each : names) {
    chart.registry = each;
    MIST_TRY_VOID(check_chart_trust(trust_, chart, content, digest, read, context));
  }
  return {};
}

Result<std::vector<std::string>> ChartJudge::names_of(std::string_view url) const {
  MIST_TRY(const config::Config config, configured_.load());
  const std::string address = trust::chart_repository_name(url);
  std::vector<std::string> names{address};
  for (const config::Registry& each : config.registries())
    if (const auto* const helm = std::get_if<config::HelmSource>(&each.remote().source);
        helm != nullptr && trust::chart_repository_name(helm->url) == address)
      names.push_back(each.name);
  return names;
}

Result<std::string> ChartJudge::checked_archive(DownloadedChart chart, http::Transport& transport,
                                                std::shared_ptr<const trust::Keyring> keyring,
                                                const Context& context) const {
  MIST_TRY_VOID(chart.check_is_it(escape_controls(config::redact_urls(chart.server().url))));
  const RegistryRef named{
      trust::chart_repository_name(chart.server().url), chart.version().chart, chart.version().version, {}};
  const std::string place = PackageRef(named).display();
  MIST_TRY(const PackageContent content, packed_chart(named.name(), chart.unchecked(), place));
  const crypto::Digest digest = digest_of(content);
  const ReadProvenance read = [&]() -> Result<ProvenanceFile> {
    if (chart.provenance()) return chart.provenance()();
    return read_provenance(transport, chart.server(), chart.version(), context);
  };
  MIST_TRY_VOID(check(chart.server().url, named, content, digest, read, context));
  if (keyring != nullptr) {
    MIST_TRY(const trust::ChartArchive archive, repository_chart(content, place));
    MIST_TRY(ChartVerdict verdict, judged_by(rule_of(std::move(keyring)), chart_subject(named, digest),
                                             archive, read, KeepText::No, context));
    MIST_TRY_VOID(std::move(verdict.judged));
  }
  return std::move(chart).unchecked();
}

Result<ChartVerdict> ChartJudge::judged_by(const trust::Rule& rule, const trust::Subject& subject,
                                           const trust::ChartArchive& archive, const ReadProvenance& read,
                                           KeepText keep, const Context& context) const {
  MIST_TRY(ChartProofs chart, prove_chart(trust_, subject, archive, *rule.keyring, read, keep, context));
  Status judged = trust::judge_required(rule, subject, chart.proofs, clock_.now(), chart.missing);
  return ChartVerdict{std::move(chart.proofs), std::move(judged)};
}

Result<ChartVerdict> ChartJudge::verify(const Fetched& package, std::shared_ptr<const trust::Keyring> keyring,
                                        const Context& context) const {
  const trust::Rule rule = rule_of(std::move(keyring));
  const std::string name = package.resolved.display();
  if (const auto* const there = std::get_if<oci::Reference>(&package.resolved.form())) {
    MIST_TRY(OciSource* const client, oci_.source());
    if (!there->digest) return error(ErrorKind::Internal, "{} has no digest", name);
    MIST_TRY(Verdict verdict, trust_.look(there->repository, *there->digest, *client, &rule, context));
    Status judged = trust::judge_required(rule, {there->repository.identity(), *there->digest},
                                          verdict.proofs, clock_.now(), verdict.missing);
    if (judged) judged = trust_.check_proved_tag(*there);
    return ChartVerdict{std::move(verdict.proofs), std::move(judged)};
  }
  MIST_TRY(trust::ChartArchive archive, chart_archive(package.content, name));
  trust::Subject subject{name, package.digest};
  ReadProvenance read;
  KeepText keep = KeepText::No;
  std::unique_ptr<RegistryView> view;
  if (const auto* const local = std::get_if<LocalRef>(&package.resolved.form())) {
    read = [this, path = provenance_file_of(local->path)] { return read_local_provenance(files_, path); };
  } else if (const auto* const named = std::get_if<RegistryRef>(&package.resolved.form())) {
    MIST_TRY(view, configured_.open(named->registry));
    // The name in a repository is the chart's, whatever it was called when it was packed.
    archive.file.clear();
    subject = chart_subject(*named, package.digest);
    keep = KeepText::Yes;
    read = [this, &view, named, &context] {
      return view->provenance(*named, context, known_.refusing(named->registry));
    };
  } else {
    return has_none(name).with_hint(
        "leave --verify out, or name the chart in a chart repository or an OCI registry");
  }
  return judged_by(rule, subject, archive, read, keep, context);
}

Result<ProvenanceFile> ChartJudge::provenance(const Fetched& package, const Context& context) const {
  const std::string name = package.resolved.display();
  MIST_TRY_VOID(chart_archive(package.content, name));
  if (const auto* const there = std::get_if<oci::Reference>(&package.resolved.form())) {
    MIST_TRY(OciSource* const client, oci_.source());
    if (!there->digest) return error(ErrorKind::Internal, "{} has no digest", name);
    MIST_TRY(std::optional<OciChart> chart,
             read_oci_chart(*client, there->repository, *there->digest, context));
    if (chart) return std::move(chart->provenance);
    return ProvenanceFile{{}, name};
  }
  if (const auto* const local = std::get_if<LocalRef>(&package.resolved.form()))
    return read_local_provenance(files_, provenance_file_of(local->path));
  const auto* const named = std::get_if<RegistryRef>(&package.resolved.form());
  if (named == nullptr)
    return has_none(name).with_hint("name the chart in a chart repository or an OCI registry");
  MIST_TRY(const std::unique_ptr<RegistryView> view, configured_.open(named->registry));
  return view->provenance(*named, context, known_.refusing(named->registry));
}

}  // namespace mist::registry
