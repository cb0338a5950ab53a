#pragma once
// Holds objects against the schemas that the server publishes of their kinds, before the first of them is
// written: unknown fields and wrong types, which server-side apply refuses (its typed conversion, whatever
// admission may do), and values that an enumeration doesn't have, which the server validates once admission
// has changed the object. Less strict than the server, never stricter: what a schema leaves open is for the
// server to judge. Any thread.

#include <string>
#include <vector>

#include "apply/custom_schema.h"
#include "apply/plan.h"

namespace mist::apply {

struct SchemaProblem {
  std::string path;     ///< "spec.template.spec.containers[0].image"
  std::string message;  ///< "there is no such field"; never the value itself, which may be a secret
  std::string instead;  ///< the nearest name that there is; empty: none is near
  encoding::Position position = {};
  bool before_admission = false;  ///< no webhook can make it right
};

/// What is wrong with an object, in the order of the object; `schemas` are those of its group version
/// (kube::Client::schemas_of). Empty too if these don't describe its kind. Pure.
std::vector<SchemaProblem> schema_problems(const apimachinery::Object& object, const Value& schemas);

/// Invalid, with each problem (up to a bound) of the objects that the plan writes, in its order, each with
/// file and line. Kinds that this release brings or changes are left to check_custom_resources() and the
/// server; so are kinds without a schema. Objects whose problems admission
/// could solve are first tried by a dry run, since the server doesn't look at every field (feature gates);
/// what it takes is no problem. `changes` is asked only about the others, and the server's schemas are
/// confirmed before anything is refused. Errors: of the context, and of `changes`.
Status check_against_server(kube::Client& client, const Plan& plan, const ChangesOnAdmission& changes,
                            const Context& context);

}  // namespace mist::apply
