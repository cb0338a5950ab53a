// What a server says that it serves, the old way and the new, and the file that it is kept in.
#include "encoding/json.h"
#include "kube/api_catalog.h"
#include "targets.h"

namespace mist::fuzz {
namespace {

void check_catalog(const kube::ApiCatalog& catalog) {
  const auto again = kube::ApiCatalog::parse(catalog.to_text());
  if (!again) fail("what is kept can't be read", catalog.to_text());
  if (again->resources != catalog.resources || again->group_versions != catalog.group_versions ||
      again->subresource_kinds != catalog.subresource_kinds)
    fail("something else is kept", catalog.to_text());
  for (const kube::ApiResource& each : catalog.resources) {
    const kube::ApiResource* const found = catalog.find(each.info.gvk.group_kind(), each.info.gvk.version);
    if (found == nullptr) fail("a kind that isn't found", each.info.gvk.kind);
    (void)catalog.find_alias(each.info.resource);
    (void)catalog.versions_of(each.info.gvk.group_kind());
  }
  (void)catalog.preferred();
  (void)catalog.served();
}

}  // namespace

void discovery(std::string_view bytes) {
  if (const auto kept = kube::ApiCatalog::parse(bytes)) check_catalog(*kept);
  const auto value = encoding::parse_json(bytes);
  if (!value.ok()) return;
  kube::ApiCatalog aggregated, old;
  if (const Status added = aggregated.add_aggregated(*value); !added.ok()) check_error(added.error());
  if (const Status added = old.add_group_version(*value); !added.ok()) check_error(added.error());
  check_catalog(aggregated);
  check_catalog(old);
}

}  // namespace mist::fuzz
