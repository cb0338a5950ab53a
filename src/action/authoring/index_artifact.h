#pragma once
// The index of an OCI registry as an artifact: oci://<registry>/mistletoe-index:v1, with one layer for each
// shard. A shard whose digest is known isn't fetched again. One thread.

#include <map>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/result.h"
#include "registry/oci_client.h"
#include "registry/oci_packages.h"
#include "registry/registry.h"
#include "search/database.h"

namespace mist::action {

inline constexpr std::size_t kIndexShards = 16;

/// `url`: of the registry, "oci://host/team". Errors: Invalid.
Result<oci::Reference> index_reference(const std::string& url);

/// The same entries give the same artifact. Errors: Invalid (readers would refuse it: search::check_size), of
/// registry::push_artifact.
Result<registry::PushReport> push_index(registry::OciClient& client, const std::string& url,
                                        const std::vector<search::Entry>& entries, const Context& context);

struct FetchedIndex {
  std::string state;  ///< digest of the manifest
  bool changed = true;
  std::vector<search::Shard> shards;       ///< those that aren't known
  std::map<std::string, std::string> all;  ///< digests by name
  std::size_t left_out = 0;                ///< packages that no reference could name
};
/// One request if nothing changed. `known`: what is here. Errors: NotFound (no index), Invalid (it is none,
/// or beyond a bound), of OciClient.
Result<FetchedIndex> fetch_index(registry::OciSource& client, const std::string& url,
                                 const search::Source& known, const Context& context);

}  // namespace mist::action
