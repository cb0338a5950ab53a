#pragma once
// A version that a release runs keeps its bytes wherever it is fetched. A pin says so on one machine
// (registry/pin_store.h); the release's record says it to those that never used the version, as to the next
// Pod of the operator. It is held against this release alone, and nothing of it is pinned: others may write
// records. Pure.

#include "base/result.h"
#include "registry/fetched.h"
#include "registry/reference.h"
#include "release/record.h"

namespace mist::render {

/// Whether a reference to a package of a registry says itself, by a digest, which bytes are right.
bool names_bytes(const registry::PackageRef& wanted);

/// Succeeds unless `fetched` is the very version that `deployed` was made from, and has other bytes. Versions
/// are those that are pinned: of a registry, and tags that are whole versions; by way of a range, too.
/// `wanted` is the reference as it was asked for: with a digest it says itself which bytes are right. The
/// bytes of a kustomization are known by its manifest only; of one without, nothing is said, because the
/// recorded digest covers its remote bases. Errors: Conflict, with both digests.
Status check_deployed_version(const release::PackageInfo& deployed, const registry::PackageRef& wanted,
                              const registry::Fetched& fetched);

}  // namespace mist::render
