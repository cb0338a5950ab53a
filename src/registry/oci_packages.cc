#include "registry/oci_packages.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "encoding/gzip.h"
#include "encoding/tar.h"
#include "encoding/yaml.h"
#include "oci/tags.h"
#include "registry/blob_transfers.h"
#include "registry/chart_archive.h"

namespace mist::registry {
namespace {

using encoding::TarFile;
using encoding::Value;

// Headers and padding of an archive whose contents may have kMaxPackageBytes.
constexpr std::size_t kMaxArchive = static_cast<std::size_t>(kMaxPackageBytes) + kMaxPackageFiles * 4096;

Result<std::vector<TarFile>> unpacked(std::string_view archive, std::string_view name) {
  MIST_TRY(const std::string tar,
           encoding::gunzip(archive, kMaxArchive).in(fmt::format("while unpacking {}", name)));
  return encoding::read_tar(tar, name, {.bytes = kMaxPackageBytes, .files = kMaxPackageFiles});
}

Result<std::string> packed(const std::vector<TarFile>& files) {
  return encoding::gzip(encoding::write_tar(files));
}

Result<PackageTree> tree_in(std::string_view archive, const std::string& name) {
  MIST_TRY(std::vector<TarFile> files, unpacked(archive, name));
  TreeBuilder builder(name);
  for (TarFile& file : files)
    if (!is_bookkeeping(file.path)) MIST_TRY_VOID(builder.add(std::move(file.path), std::move(file.bytes)));
  return std::move(builder).finish();
}

Result<PackageTree> one_file(std::string path, std::string bytes, const std::string& name) {
  TreeBuilder builder(name);
  MIST_TRY_VOID(builder.add(std::move(path), std::move(bytes)));
  return std::move(builder).finish();
}

struct Chart {
  Value document;
  std::string name, version;
};

// Chart.yaml, which Helm's layout repeats as JSON.
Result<Chart> read_chart(std::string_view text, std::string_view place) {
  MIST_TRY(Value document, encoding::parse_yaml(text).in(fmt::format("while reading {}", place)));
  Chart chart{std::move(document), {}, {}};
  chart.name = chart.document.string_at("name");
  chart.version = chart.document.string_at("version");
  if (chart.name.empty() || chart.version.empty())
    return error(ErrorKind::Invalid, "{} has no name or no version", place)
        .with_hint("Helm wants both in a chart that is published");
  return chart;
}

// "web/Chart.yaml" of the archive; subcharts have theirs deeper.
Result<Chart> chart_in(std::string_view archive, const std::string& name) {
  MIST_TRY(const std::vector<TarFile> files, unpacked(archive, name));
  for (const TarFile& file : files) {
    const auto slash = file.path.find('/');
    if (slash != std::string::npos && std::string_view(file.path).substr(slash + 1) == kChartFile)
      return read_chart(file.bytes, fmt::format("{} in {}", file.path, name));
  }
  return error(ErrorKind::Invalid, "{} is not a packed chart: it has no NAME/{}", name, kChartFile)
      .with_hint("`helm package` makes one; a directory with a chart can be pushed as it is");
}

std::string packed_name(const PackageTree& tree) {
  const bool is_packed = tree.files.size() == 1 && tree.files.front().path.ends_with(".tgz");
  return is_packed ? tree.files.front().path : std::string();
}

oci::About about_chart(const Chart& chart, const oci::About& about) {
  return {.title = chart.name,
          .version = chart.version,
          .description = about.description.empty() ? std::string(chart.document.string_at("description"))
                                                   : about.description};
}

// As `helm package`: what Chart.yaml depends on must be in charts/, or nobody could install the chart.
Status check_subcharts(const PackageTree& tree, const Chart& chart) {
  const Value* const dependencies = chart.document.find("dependencies");
  if (dependencies == nullptr || !dependencies->is_array()) return {};
  for (const Value& each : dependencies->as_array()) {
    const std::string name(each.string_at("name"));
    const bool is_there = std::ranges::any_of(tree.files, [&](const PackageFile& file) {
      return file.path.starts_with(fmt::format("charts/{}/", name)) ||
             (file.path.starts_with(fmt::format("charts/{}-", name)) && file.path.ends_with(".tgz"));
    });
    if (!is_there)
      return error(ErrorKind::Invalid, "the chart {} depends on {}, which isn't in its charts/", chart.name,
                   escape_controls(name))
          .with_hint("mistctl dependency build fetches it");
  }
  return {};
}

// As `helm package`: below the chart's name, Chart.yaml first.
Result<oci::Artifact> packed_chart(const PackageTree& tree, std::string_view chart_text,
                                   const oci::About& about) {
  MIST_TRY(const Chart chart, read_chart(chart_text, kChartFile));
  MIST_TRY_VOID(check_subcharts(tree, chart));
  MIST_TRY(std::string archive, pack_chart(tree, chart.name));
  return oci::chart_artifact(std::move(archive), chart.document, about_chart(chart, about));
}

}  // namespace

Result<oci::Reference> with_tag(OciSource& client, const oci::Reference& reference, const Context& context) {
  if (reference.range.empty()) return reference;
  MIST_TRY(const encoding::SemVerRange range, encoding::SemVerRange::parse(reference.range));
  const auto newest = [&](const std::vector<std::string>& tags) {
    return oci::newest_in(range, oci::fixed_versions(tags));
  };
  const auto is_enough = [&](const std::vector<std::string>& some) { return newest(some).has_value(); };
  MIST_TRY(const std::vector<std::string> tags, client.enough_tags(reference.repository, is_enough, context));
  oci::Reference found = reference;
  found.range.clear();
  if (std::optional<std::string> tag = newest(tags)) {
    found.tag = *std::move(tag);
    return found;
  }
  return naming_tags(
      error(ErrorKind::NotFound, "there is no version {} of {}", reference.range, reference.repository.str()),
      reference.repository, tags);
}

Error naming_tags(Error failure, const oci::Repository& repository, std::span<const std::string> tags) {
  constexpr std::size_t kNamed = 5;
  std::vector<std::string> whole, others;
  for (std::string& tag : oci::newest_first(tags)) {
    std::vector<std::string>& some = oci::is_fixed_version(tag) ? whole : others;
    if (some.size() < kNamed) some.push_back(std::move(tag));
  }
  if (!others.empty())
    failure.because =
        fmt::format("tags that are not whole versions, such as 1.4.0, are left out: {}", join(others, ", "));
  if (!whole.empty())
    failure.hint = fmt::format("the newest there: {}", join(whole, ", "));
  else if (!others.empty())
    failure.hint = fmt::format("name a tag as it is: {}:{}", repository.str(), others.front());
  else
    failure.hint = "none of its tags is a version";
  return failure;
}

Result<oci::Manifest> package_manifest(OciSource& client, const oci::Repository& repository,
                                       const RawManifest& raw, const std::string& name,
                                       const Context& context) {
  MIST_TRY(oci::Document document, oci::parse_document(raw.bytes, raw.content_type, name));
  if (const auto* index = std::get_if<oci::Index>(&document)) {
    MIST_TRY(const oci::Descriptor chosen, oci::package_in(*index, name));
    MIST_TRY(const RawManifest inner, client.manifest(repository, chosen.digest.str(), context));
    MIST_TRY_VOID(naming_mirror(check_manifest_digest(inner, chosen.digest, name), inner, name));
    MIST_TRY(document,
             naming_mirror(oci::parse_document(inner.bytes, inner.content_type, name), inner, name));
  }
  auto* const manifest = std::get_if<oci::Manifest>(&document);
  if (manifest == nullptr)
    return error(ErrorKind::Invalid, "{} is an index of indexes", name)
        .with_hint("name one of its manifests");
  return std::move(*manifest);
}

Result<PackageContent> read_oci_package(OciSource& client, const oci::Reference& reference,
                                        const RawManifest& raw, const Context& context) {
  const std::string name = reference.str();
  MIST_TRY(const oci::Manifest manifest, package_manifest(client, reference.repository, raw, name, context));
  MIST_TRY(const oci::Content content, oci::content_of(manifest, name));
  MIST_TRY(std::string bytes, client.blob(reference.repository, content.layer, kMaxPackageBytes, context));
  switch (content.kind) {
    case oci::ContentKind::Module:
      return PackageContent(PackageModule(std::move(bytes), content.layer.digest));
    case oci::ContentKind::Chart: {
      // The same name whatever the tag, so that the tree's digest is a function of the chart.
      MIST_TRY(PackageTree tree, one_file(reference.repository.name() + ".tgz", std::move(bytes), name));
      return PackageContent(std::move(tree));
    }
    case oci::ContentKind::Tree: {
      MIST_TRY(PackageTree tree, tree_in(bytes, name));
      return PackageContent(std::move(tree));
    }
  }
  return error(ErrorKind::Internal, "{} is of no kind", name);
}

Result<oci::Artifact> artifact_of(const PackageContent& content, const oci::About& about,
                                  const std::string& provenance) {
  if (const auto* module = std::get_if<PackageModule>(&content)) {
    MIST_TRY(const auto bytes, module->bytes());
    return oci::module_artifact(*bytes, module->digest(), about);
  }
  const auto& tree = std::get<PackageTree>(content);
  if (const std::string name = packed_name(tree); !name.empty()) {
    const std::string& archive = tree.files.front().bytes;
    MIST_TRY(const Chart chart, chart_in(archive, name));
    return oci::chart_artifact(archive, chart.document, about_chart(chart, about), provenance);
  }
  const auto chart = std::ranges::find(tree.files, kChartFile, &PackageFile::path);
  if (chart != tree.files.end()) return packed_chart(tree, chart->bytes, about);
  std::vector<TarFile> files;
  for (const PackageFile& file : tree.files) files.push_back({file.path, file.bytes});
  MIST_TRY(std::string archive, packed(files));
  return oci::tree_artifact(std::move(archive), about);
}

Status push_blobs(OciTarget& target, const oci::Repository& repository, const oci::Artifact& artifact,
                  const Context& context) {
  // They are in memory already.
  const std::vector<std::uint64_t> sizes(artifact.blobs.size(), 0);
  return transfer_blobs(sizes, context, [&](std::size_t i, const Context& each) {
    return target.push_blob(repository, artifact.blobs[i], each);
  });
}

Result<PushReport> push_artifact(OciClient& client, const oci::Reference& destination,
                                 const oci::Artifact& artifact, Overwrite overwrite, const Context& context) {
  PushReport report{.pushed = destination};
  report.pushed.digest = artifact.digest;
  report.bytes = artifact.manifest.size();
  for (const oci::Blob& blob : artifact.blobs) report.bytes += blob.bytes.size();
  MIST_TRY(report.was_there, is_published(client, destination.repository, destination.tag, artifact.digest,
                                          overwrite, context));
  if (report.was_there) return report;
  MIST_TRY_VOID(push_blobs(client, destination.repository, artifact, context));
  MIST_TRY(
      const TagPut put,
      put_tag(client, destination.repository,
              {destination.tag, artifact.manifest, artifact.digest, oci::kManifestType}, overwrite, context));
  report.after = put.after;
  return report;
}

}  // namespace mist::registry
