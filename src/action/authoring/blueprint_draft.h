#pragma once
// A blueprint drafted from manifests: a node for each object, whose name depends on the instance; an Also
// edge where an object needs another, a Sequence edge where it comes after another; and the literals that
// usually differ between installs as fields of the instance. A person goes on from there. Pure; any thread.

#include <map>
#include <string>
#include <vector>

#include "apimachinery/object.h"
#include "base/result.h"

namespace mist::action {

struct DraftNames {
  std::string blueprint;  ///< "web-app"
  std::string group;      ///< "example.com"
  std::string kind;       ///< "WebApp"
};

/// A literal that became a field of the instance.
struct DraftedField {
  std::string name;       ///< "replicas"
  std::string object;     ///< the first that has it: "Deployment web"
  encoding::Value value;  ///< its default
};

struct BlueprintDraft {
  std::map<std::string, std::string> files;  ///< by relative path: blueprint.ncl, crd.yaml, instance.yaml
  std::size_t nodes = 0, also = 0, sequence = 0;
  std::vector<DraftedField> fields;
  std::vector<std::string> warnings;  ///< what a person has to look at
};

/// The objects of manifests: documents, and the items of lists. Errors: Invalid, with file and line.
Result<std::vector<apimachinery::Object>> objects_of_manifests(
    const std::map<std::string, std::string>& texts);

/// Errors: Invalid (two objects are the same one; nothing is left for a blueprint).
Result<BlueprintDraft> draft_blueprint(std::vector<apimachinery::Object> objects, const DraftNames& names);

}  // namespace mist::action
