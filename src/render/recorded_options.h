#pragma once
// The options of a run that shape its result, as its revision records them, and those of an uninstall under
// way, as the head of the release's record does. Later runs read them: a recovery ends what was begun as it
// was begun, and an upgrade keeps what the release may look up. Only here is their stored form known. Plain
// values; any thread.

#include <cstdint>
#include <optional>
#include <set>

#include "apply/plan/hooks.h"
#include "apply/plan/plan.h"
#include "encoding/value.h"
#include "render/answers.h"
#include "render/lookup_grants.h"

namespace mist::render {

/// How much a run waits for before its revision counts as deployed.
enum class RecordedWait : std::uint8_t {
  None,
  AllReady,   ///< all its objects are ready; its Jobs have ended
  JobsBegun,  ///< all its objects are ready; its Jobs have begun
};

struct RecordedOptions {
  /// Only one run may leave fields, keep what was adopted, or prune unused CRDs: these members are not
  /// recorded.
  apply::AllowedChanges allowed = {};
  std::optional<apply::HookVerb> hooks = {};  ///< whose hooks it ran; nullopt: not recorded
  LookupGrants lookups = {};
  Answers answers = {};
  bool force_crds = false;
  RecordedWait wait = RecordedWait::None;
  /// A list of the objects that the run adopted, as they were before that; null: it adopted none.
  encoding::Value before_adoption = {};
  bool no_hooks = false;  ///< the uninstall runs none
  /// Those hooks of the uninstall have ended: Before, After.
  std::set<apply::HookPhase> ended_hooks = {};

  /// The reverse of to_value. A member that is absent, or isn't what it should be, has its default; so have
  /// all of null.
  static RecordedOptions from_value(const encoding::Value& recorded);
};

/// The stored form. Members that are empty or have their default are left out, except flags that every
/// version wrote.
encoding::Value to_value(const RecordedOptions& options);

/// The list that from_value() copies into `before_adoption`, which may be large; null: there is none. It
/// points into `recorded`.
const encoding::Value* before_adoption_in(const encoding::Value& recorded);

}  // namespace mist::render
