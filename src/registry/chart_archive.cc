#include "registry/chart_archive.h"

#include <algorithm>

#include "base/text.h"
#include "encoding/gzip.h"
#include "encoding/tar.h"

namespace mist::registry {
namespace {

using encoding::TarFile;

// Headers and padding of an archive whose contents may have kMaxPackageBytes.
constexpr std::size_t kLargestTar = static_cast<std::size_t>(kMaxPackageBytes) + kMaxPackageFiles * 4096;

const PackageFile* file_in(const PackageTree& tree, std::string_view path) {
  const auto found = std::ranges::find(tree.files, path, &PackageFile::path);
  return found == tree.files.end() ? nullptr : &*found;
}

}  // namespace

Result<ChartFiles> unpack_chart(std::string_view archive, const std::string& place) {
  MIST_TRY(const std::string tar,
           encoding::gunzip(archive, kLargestTar).in(fmt::format("while unpacking {}", place)));
  MIST_TRY(std::vector<TarFile> files,
           encoding::read_tar(tar, place, {.bytes = kMaxPackageBytes, .files = kMaxPackageFiles}));
  TreeBuilder builder(place);
  for (TarFile& file : files) {
    const auto slash = file.path.find('/');
    if (slash == std::string::npos || is_bookkeeping(file.path)) continue;
    MIST_TRY_VOID(builder.add(file.path.substr(slash + 1), std::move(file.bytes)));
  }
  auto tree = std::move(builder).finish();
  if (!tree.ok()) return error(ErrorKind::Invalid, "{} is not a packed chart", place).caused_by(tree.error());
  return chart_of(*std::move(tree), place);
}

Result<ChartFiles> chart_of(PackageTree tree, const std::string& place) {
  if (tree.files.size() == 1 && tree.files.front().path.ends_with(".tgz"))
    return unpack_chart(tree.files.front().bytes, place);
  const PackageFile* const chart = file_in(tree, kChartFile);
  if (chart == nullptr)
    return error(ErrorKind::Invalid, "{} is not a chart: it has no {}", place, kChartFile);
  const PackageFile* const requirements = file_in(tree, kRequirementsFile);
  MIST_TRY(
      ChartManifest manifest,
      read_chart_manifest(
          chart->bytes, requirements == nullptr ? std::nullopt : std::optional(requirements->bytes), place));
  return ChartFiles{std::move(manifest), std::move(tree)};
}

Result<std::string> pack_chart(const PackageTree& tree, std::string_view name) {
  std::vector<TarFile> files;
  for (const PackageFile& file : tree.files)
    files.push_back({fmt::format("{}/{}", name, file.path), file.bytes});
  const std::string first = fmt::format("{}/{}", name, kChartFile);
  std::ranges::stable_partition(files, [&](const TarFile& file) { return file.path == first; });
  return encoding::gzip(encoding::write_tar(files));
}

}  // namespace mist::registry
