#pragma once
// Returns adopted objects to the state they had before their adoption, when the revision that adopted them is
// undone or gone back over. Before an object is adopted, it is written into the revision's record, with its
// managedFields. Undoing applies the fields that its earlier managers owned and we took, as ours, so that
// fields that we added go and those that we changed or removed come back; then these get their owners again.
// Fields that others changed since are left as they are. Any thread.

#include <string>
#include <string_view>

#include "action/environment.h"
#include "apply/plan/observe.h"
#include "apply/plan/plan.h"

namespace mist::action {

/// The objects that a plan adopts, and that belong to no other release, as they are: without their status.
/// Before them, as they were recorded, those of the plan that unfinished revisions of `state` adopted in
/// vain: a trimmed history may lose the revision that knew them first. null: there are none.
encoding::Value before_adoption(const ReleaseState& state, const apply::Plan& plan,
                                const apply::LiveState& live);

/// The record that a revision made of the object with that uid before adopting it or, where the release has
/// replaced that since, of the one with that key; null: there is none.
const encoding::Value* before_adoption(const release::Revision& revision, const apimachinery::ObjectKey& key,
                                       std::string_view uid);

/// The outcome of giving an adopted object back.
struct GivenBack {
  std::string words;     ///< what is there now and how that differs from before, without values
  bool refused = false;  ///< it keeps what the release wrote
};

/// Makes an adopted object what it was `before`. Again after a run that died, it goes on. Errors: of the
/// server, but for what it finds invalid and what others own meanwhile: those are refusals.
Result<GivenBack> give_adopted_back(const Environment& environment, const release::ReleaseId& id,
                                    const encoding::Value& before, const apply::PlannedAction& action,
                                    const Context& context);

/// The same of what an unfinished revision of `state` adopted. No words: no record tells what it was, so
/// nothing was written.
Result<GivenBack> give_adopted_back(const Environment& environment, const ReleaseState& state,
                                    const apply::PlannedAction& action, const Context& context);

/// Takes our labels off an adopted object that outlives the release, so that it is nobody's again. Our
/// other fields stay. Errors: of the server, but its refusals are only warned of: the release goes all the
/// same.
Status leave_adopted(const Environment& environment, const release::ReleaseId& id,
                     const apply::PlannedAction& action, const Context& context);

}  // namespace mist::action
