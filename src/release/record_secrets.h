#pragma once
// The Secrets of a record as data: what the store writes into them and reads from them, seals included. Pure;
// any thread. For store.cc alone.

#include <optional>
#include <string>
#include <string_view>

#include "release/store.h"

namespace mist::release {

inline constexpr std::string_view kTestsRecord =
    "tests";  ///< of apply::kRecordLabel: a run of a release's tests

/// The anchor as its metadata shows it: no seed and no seals.
Anchor anchor_from_metadata(const Value& object);
/// Invalid, Conflict: it is not a Secret, or no record. Parts without their proper seal are damage.
Result<Anchor> anchor_from_secret(const Value& secret, const ReleaseId& id);
/// An anchor's data: seed and clock, and with a key that and their seal.
Value fixed_inputs_data(const Seals& seals, const ReleaseId& id, const SecretString& seed,
                        const std::string& clock);
/// As a merge patch; the head with its seal.
Value change_annotations(const Seals& seals, const ReleaseId& id, const AnchorChange& change);

Value summary_annotation(const Revision& revision);
RevisionSummary summary_from_metadata(const Value& object);

/// Of what a revision's Secret holds as `text`; nullopt: it needs none.
std::optional<std::string> revision_seal(const Anchor& anchor, const Revision& revision,
                                         std::string_view text);
std::optional<std::string> inventory_seal(const Anchor& anchor, const Revision& revision,
                                          std::string_view text);
/// Internal: a revision's Secret was not written by the release, or not as that revision.
Status check_seals(const Anchor& anchor, int number, const Value& secret);

Error damaged_record(const ReleaseId& id, const Value& secret, std::string_view why);

}  // namespace mist::release
