#pragma once
// The results of rendering a package and of inspecting one. Plain values; any thread.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apimachinery/object.h"
#include "base/secret.h"
#include "encoding/value.h"
#include "package/host.h"
#include "package/metadata.h"
#include "package/objects.h"
#include "package/pre_install.h"

namespace mist::package {

class CallTree;

struct Rendered {
  Metadata metadata;
  std::map<std::string, std::string> files;  ///< as the package gave them
  FileOrigins origins;                       ///< of those that an engine made, as far as it knows
  std::vector<apimachinery::RenderedObject> objects;
  Value exports;
  std::string message;                          ///< for the user, after installing; escape it before printing
  std::uint64_t drawn = 0;                      ///< random bytes that the guest drew
  std::map<std::string, SecretString> secrets;  ///< by name: what it asked its host for
  std::map<std::string, SecretString> looked_up;  ///< values_of_secrets() of what was looked up
  std::vector<Exchange> asked;                    ///< of its host, by digest
  std::string engine;                             ///< what rendered it, if it is a directory
  std::optional<std::string> print;               ///< of an engine with the option `print`
  Value missing;                                  ///< of an engine: what isn't there; a list, else null
  Value unknown;                               ///< of an engine: values that nobody reads; a list, else null
  std::vector<Answer> answers = {};            ///< of the values, to questions of a Kube's script
  Value package;                               ///< of an engine with the option `inspect`: what it sees
  std::shared_ptr<const CallTree> calls = {};  ///< null: nothing was called
};

struct Inspection {
  Metadata metadata;
  std::string format;  ///< "v1alpha1", "v1 command", "Kubernetes YAML", "Helm chart"
  std::size_t bytes = 0;
  std::string engine = {};         ///< its name, if it has one
  std::string engine_digest = {};  ///< "sha256:…"
  /// Of the engine with that name that this program came with; empty: there is none.
  std::string engine_here = {};
};

}  // namespace mist::package
