#pragma once
// Objects of a package that name an owner (metadata.ownerReferences) which isn't there: an exported manifest
// names the one that it had in its old cluster. The garbage collector deletes such an object within seconds,
// or takes the reference away where another owner is there, and every upgrade would write it again. Any
// thread.

#include "action/environment.h"
#include "apply/plan/plan.h"

namespace mist::action {

/// NotFound, at its line: an owner that an object to be written names is not there, by kind, name and uid. An
/// owner that may not be read, or whose kind isn't known, is let pass. Sends a request for each owner.
Status refuse_dangling_owners(const Environment& environment, const apply::Plan& plan,
                              const Context& context);

/// For going back to what is recorded: an object that is there, and would get such an owner, is left as it is
/// (apply/plan/left_as_is.h); one that is not there is written, with a warning. Errors: of the context.
Status leave_dangling_owners(const Environment& environment, apply::Plan& plan, const Context& context);

}  // namespace mist::action
