#pragma once
// Holds objects against the schemas that the server publishes of their kinds (apimachinery/object_schema.h),
// before the first of them is written. Any thread.

#include "apimachinery/object_schema.h"
#include "apply/plan/custom_schema.h"
#include "apply/plan/plan.h"

namespace mist::apply {

/// Invalid, with each problem (up to a bound) of the objects that the plan writes, in its order, each with
/// file and line. Kinds that this release brings or changes are left to check_custom_resources() and the
/// server; so are kinds without a schema. Objects whose problems admission
/// could solve are first tried by a dry run, since the server doesn't look at every field (feature gates);
/// what it takes is not a problem. `changes` is asked only about the others, and the server's schemas are
/// confirmed before anything is refused. Errors: of the
/// context, and of `changes`.
Status check_against_server(kube::Client& client, const Plan& plan, const ChangesOnAdmission& changes,
                            const Context& context);

/// Of a plan that is shown and not carried out: writes that the server refused, and that don't fit its
/// schema, get these problems as their reason, with file and line, in place of the server's words. Errors: of
/// the context.
Status explain_refusals(kube::Client& client, Plan& plan, const Context& context);

}  // namespace mist::apply
