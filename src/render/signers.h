#pragma once
// A release is held to the signers of what it runs. Each machine remembers signers by itself (trust::Memory),
// and forgets them with its home: the operator's Pods with each restart. The release's record keeps them, for
// this release alone: nothing of it is remembered elsewhere, as others may write records. Signers that
// somebody verified on this machine (`mistctl verify`) count for more than the record. Pure.
//
// Where the release's package is named by its digest (names_bytes), that says which bytes are wanted, so the
// record isn't asked then, and has the new signers from then on.

#include <vector>

#include "base/result.h"
#include "package/source.h"
#include "registry/recorded_signers.h"
#include "release/record.h"

namespace mist::render {

/// Of a revision, as Registries takes them.
registry::RecordedSigners recorded_signers(const release::PackageInfo& recorded);

/// Of a package that was resolved, and of what it may call, for its record. Of what `before` knows too, only
/// those that both have, as long as there is one; and those of `before` where nobody else is known now. Null:
/// there is no revision before.
std::vector<release::PackageSigners> signers_for_record(const package::Source& source,
                                                        const release::PackageInfo* before);

/// Succeeds if the package and what it may call are signed by somebody who signed them before, as far as
/// `deployed` knows and the policy holds packages to what is remembered. Errors: Conflict.
Status check_signers(const release::PackageInfo& deployed, const package::Source& source);

}  // namespace mist::render
