#pragma once
// The blueprint that its author's commands are about: a directory, a Nickel file, or the ConfigMap of a
// manifest. Reads only. One thread.

#include <map>
#include <string>
#include <vector>

#include "apimachinery/gvk.h"
#include "base/fs.h"
#include "base/result.h"
#include "blueprint/blueprint.h"
#include "blueprint/round_trip.h"
#include "encoding/value.h"
#include "package/renderer.h"

namespace mist::action {

struct BlueprintSource {
  std::string name;  ///< of its ConfigMap; of a directory: as that is called
  Path path;         ///< the directory, or the manifest
  bool is_manifest = false;
  std::string service_account = {};        ///< mistletoe.dev/service-account of its ConfigMap
  std::string entry_file = {};             ///< what its blueprint.ncl is called on disk
  package::Files files;                    ///< as the ConfigMap has them
  std::vector<encoding::Value> crds = {};  ///< CustomResourceDefinitions beside it

  /// How people find a file of it: "blueprints/app/blueprint.ncl", "app.yaml, blueprint.ncl of app".
  std::string shown(std::string_view file) const;
  /// The plurals that its CRDs give to kinds.
  std::map<apimachinery::GroupKind, std::string> plurals() const;
  /// Gives a custom resource the defaults of its CRD, as an API server does: of the one that `blueprint`
  /// makes, or one beside it.
  void fill_defaults(const blueprint::Blueprint& blueprint, encoding::Value& instance) const;
};

/// All at `path`: of a directory without a blueprint.ncl those of the directories in it; of a manifest each
/// ConfigMap with a blueprint.ncl. Errors: NotFound (there is none), of reading, Invalid with the place
/// (YAML).
Result<std::vector<BlueprintSource>> read_blueprints(const FileSystem& files, const Path& path);
/// The objects in YAML beside a blueprint (in its manifest), and the instances of its test cases. A file that
/// can't be read as such is left out: nobody has to have examples. Errors: none but of the file system.
Result<std::vector<blueprint::Example>> read_examples(const FileSystem& files, const BlueprintSource& source);
/// Exactly one. Errors as above, and Invalid: there are several.
Result<BlueprintSource> read_blueprint(const FileSystem& files, const Path& path);

}  // namespace mist::action
