#include "registry/mirrored_chart.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/text.h"
#include "encoding/semver.h"
#include "oci/tags.h"
#include "trust/chart_address.h"

namespace mist::registry {
namespace {

using Places = AddressCopies::Places;

std::string chart_words(const ChartReference& chart) {
  return fmt::format("chart {} {} of {}", chart.name, chart.version.empty() ? "*" : chart.version,
                     chart_address(chart.repository));
}

Result<std::optional<std::string>> newest_in_mirrors(const AddressCopies& copies, const AddressName& name,
                                                     const ChartReference& chart, const Context& context) {
  const std::string any = chart.unfinished ? ">0.0.0-0" : "*";
  MIST_TRY(const encoding::SemVerRange range,
           encoding::SemVerRange::parse(chart.version.empty() ? any : chart.version));
  MIST_TRY(const std::vector<std::string> versions, copies.versions(name, context));
  for (const std::string& each : std::views::reverse(versions)) {
    const Result<encoding::SemVer> number = encoding::SemVer::parse_lenient(each);
    if (number.ok() && range.contains_as_helm(*number)) return std::optional(each);
  }
  return std::optional<std::string>();
}

}  // namespace

std::string chart_address(const std::string& url) { return trust::chart_repository_name(url); }

Result<std::optional<std::string>> newest_chart_copy(const AddressCopies& copies, const ChartReference& chart,
                                                     const Context& context) {
  const std::optional<AddressName> name = AddressName::of(chart_address(chart.repository), chart.name);
  if (!name) return std::optional<std::string>();
  MIST_TRY(const Places places, copies.places(*name));
  if (places == Places::Original) return std::optional<std::string>();
  MIST_TRY(std::optional<std::string> newest, newest_in_mirrors(copies, *name, chart, context));
  if (!newest && places == Places::MirrorsOnly) return not_in_mirrors(chart_words(chart), *name);
  return newest;
}

Result<std::optional<DownloadedChart>> find_chart_copy(const AddressCopies& copies, ChartServer server,
                                                       const ChartReference& chart, const Context& context) {
  const std::optional<AddressName> name = AddressName::of(chart_address(chart.repository), chart.name);
  if (!name) return std::optional<DownloadedChart>();
  MIST_TRY(const Places places, copies.places(*name));
  if (places == Places::Original) return std::optional<DownloadedChart>();
  std::string version = chart.version;
  std::optional<FoundCopy> copy;
  if (oci::is_tag(oci::tag_of_version(version))) {
    MIST_TRY(copy, copies.find(*name, oci::tag_of_version(version), context));
  }
  if (!copy) {
    MIST_TRY(const std::optional<std::string> newest, newest_chart_copy(copies, chart, context));
    if (!newest) return std::optional<DownloadedChart>();
    version = *newest;
    MIST_TRY(copy, copies.find(*name, oci::tag_of_version(version), context));
    if (!copy) return not_in_mirrors(chart_words(chart), *name);
  }
  const std::string place = fmt::format("{} in {}", copy->name, copy->raw.mirror);
  MIST_TRY(std::string archive, copies.bytes(*name, *copy, context));
  ProvenanceFile provenance{{}, place};
  MIST_TRY(provenance.text, copies.provenance(*name, *copy, context));
  DownloadedChart found(
      std::move(server), {.chart = chart.name, .version = version, .url = place, .digest = {}},
      std::move(archive),
      [provenance = std::move(provenance)]() -> Result<ProvenanceFile> { return provenance; });
  MIST_TRY_VOID(found.check_is_it(chart_address(chart.repository)));
  return std::optional(std::move(found));
}

}  // namespace mist::registry
