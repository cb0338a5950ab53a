#pragma once
// Holds objects against the OpenAPI v3 schemas of their kinds: unknown fields and wrong types, which
// server-side apply refuses (its typed conversion, whatever admission may do), values that an enumeration
// doesn't have, which a server validates once admission has changed the object, and required fields. Less
// strict than a server, never stricter: what a schema leaves open is for the server to judge. Pure; any
// thread.

#include <cstdint>
#include <string>
#include <vector>

#include "apimachinery/object.h"

namespace mist::apimachinery {

struct SchemaProblem {
  std::string path;     ///< "spec.template.spec.containers[0].image"
  std::string message;  ///< "there is no such field"; never the value itself, which may be a secret
  std::string instead;  ///< the nearest name that there is; empty: none is near
  encoding::Position position = {};
  bool before_admission = false;  ///< no webhook can make it right

  /// "spec.replcas: there is no such field (did you mean replicas?)".
  std::string words() const;
};

/// Whether fields that a schema requires have to be there. Admission may add them, so that only the server
/// knows. Fields of `status` never count: it isn't written with the object. Nor do fields that have a default
/// (of a custom resource), or that the server of a built-in kind does without, whatever its schema says.
enum class RequiredFields : std::uint8_t { LeftToAdmission, Checked };

/// The problems of an object, in the order of the object; `schemas` are those of its group version
/// (kube::Client::schemas_of), or of a whole Kubernetes (KubeTypes). Empty too if these don't describe its
/// kind.
std::vector<SchemaProblem> schema_problems(const Object& object, const encoding::Value& schemas,
                                           RequiredFields required = RequiredFields::LeftToAdmission);

}  // namespace mist::apimachinery
