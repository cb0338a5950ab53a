#include "package/type_store.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "crypto/digest.h"
#include "encoding/gzip.h"
#include "package/installation_fault.h"

namespace mist::package {
namespace {

constexpr std::uint64_t kLargestFile = 16 << 20;
constexpr std::size_t kLargestTable = 256 << 20;
constexpr std::string_view kInstallAgain =
    "install mistctl again, or set MIST_SCHEMAS_LOCATION to the directory of its schemas";

}  // namespace

bool TypeStore::has(apimachinery::KubeMinor minor) const {
  return std::ranges::find(digests_, minor.number, &KubeTypesDigest::minor) != digests_.end();
}

std::string TypeStore::minors() const {
  std::vector<std::string> names;
  for (const KubeTypesDigest& each : digests_) names.push_back(apimachinery::KubeMinor{each.minor}.text());
  return join(names, ", ");
}

Result<std::shared_ptr<const apimachinery::KubeTypes>> TypeStore::types(const FileSystem& files,
                                                                        apimachinery::KubeMinor minor) const {
  const auto known = std::ranges::find(digests_, minor.number, &KubeTypesDigest::minor);
  if (known == digests_.end())
    return error(ErrorKind::NotFound, "the schemas of Kubernetes {} did not come with this mistctl",
                 minor.text())
        .with_hint(fmt::format("there are those of {}", minors()));
  const Path file = directory_ / fmt::format("kubernetes-{}.json.gz", minor.text());
  const std::string during = fmt::format("while loading the schemas of Kubernetes {}", minor.text());
  auto bytes = files.read(file, kLargestFile);
  if (!bytes.ok())
    return std::move(bytes)
        .error()
        .with_frame(during)
        .with_hint(std::string(kInstallAgain))
        .with_detail(InstallationFault{});
  if (crypto::sha256(*bytes).hex() != known->sha256)
    return error(ErrorKind::Invalid, "{} is not the file that came with this mistctl", file.string())
        .with_frame(during)
        .with_hint(std::string(kInstallAgain))
        .with_detail(InstallationFault{});
  MIST_TRY(const std::string text, encoding::gunzip(*bytes, kLargestTable).in(during));
  MIST_TRY(apimachinery::KubeTypes types, apimachinery::KubeTypes::parse(text).in(during));
  return std::make_shared<const apimachinery::KubeTypes>(std::move(types));
}

}  // namespace mist::package
