#pragma once
// An instance whose record was removed, or written over with an older one, while no operator ran that knew
// it. Objects that its blueprint makes now are found again by their names. Any other object with its mark may
// be one that nothing wants any more, or one that was meant to stay: it is put on record as that, told to
// people, and left as it is. Pure; any thread.

#include <string>

#include "blueprint/blueprint.h"
#include "reconcile/decide.h"

namespace mist::reconcile {

/// Whether the record of the instance isn't what the operator wrote there last, so that it may lack objects.
/// One of which nothing was ever recorded counts only if somebody changed it since it was created.
bool is_record_in_doubt(const Value& instance);

/// Gives the plan's record the objects that nothing accounts for: those that `recorded` has as that, and, if
/// it is in doubt, what carries the mark of the instance and isn't in the plan. It looks only among the kinds
/// of the plan and of the blueprint's nodes; which a function makes isn't always known. `blueprint` is null
/// where there is none.
void account_for_marked(const blueprint::Blueprint* blueprint, const Value& instance, const Record& recorded,
                        const Queries& queries, Plan& plan);

/// For people: which objects, and what to do.
std::string unaccounted_words(const Record& record);

}  // namespace mist::reconcile
