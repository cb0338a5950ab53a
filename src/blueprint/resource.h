#pragma once
// The custom resource that a blueprint declares by contracts, and the CustomResourceDefinition that is made
// of it. Contracts come as schemas that the engine described (contracts_library.h); a schema says as much of
// its contract as a CRD can, and what is left over stands beside it. Pure; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apimachinery/gvk.h"
#include "base/error.h"
#include "encoding/value.h"

namespace mist::blueprint {

using encoding::Value;

/// Says who applies the CRD.
enum class CrdMode : std::uint8_t {
  Manage,   ///< the operator
  Await,    ///< somebody else; the operator waits until it is there, and looks whether it fits
  Publish,  ///< a person, from the ConfigMap that the operator writes
};

/// Whether a blueprint's revision is used already.
enum class Standing : std::uint8_t {
  New,
  InForce,  ///< instances are served by it: what older operators took is no reason to stop that
};

/// A place in a custom resource, and something about it: "spec.size", "std.number.Nat".
struct SchemaNote {
  std::string version, path, what;
};

struct ResourceVersion {
  std::string name;
  bool served = true;
  std::string deprecated = {};   ///< a warning for clients; empty: it isn't
  Value spec = {}, status = {};  ///< structural schemas; null: no contract
  bool spec_required = false;    ///< else one that is missing counts as one in which nothing is set
  bool converts = false;         ///< functions convert it to and from the version in which instances are read
};

struct ResourceColumn {
  std::string name, path, type;
  bool wide = false;  ///< only with kubectl get -o wide
};

/// The CRD, as its blueprint describes it.
struct CustomResource {
  CrdMode mode = CrdMode::Manage;
  bool adopt = false;  ///< takes over a CRD that no blueprint manages
  std::string plural, singular, stored;
  std::vector<std::string> short_names = {}, categories = {};
  std::vector<ResourceColumn> columns = {};
  std::vector<ResourceVersion> versions = {};  ///< by name
  std::vector<SchemaNote> unsaid = {};         ///< of contracts, and not of the CRD: the operator checks it
  std::vector<SchemaNote> beyond = {};         ///< of the CRD, and not of contracts
  Standing standing = Standing::New;
  std::vector<std::string> tolerated = {};  ///< faults of a new revision, in one that is in force

  /// Whether the server needs a webhook to read one version as another.
  bool converts() const;
  /// "widgets.example.com".
  std::string crd_name(std::string_view group) const { return plural + "." + std::string(group); }
};

/// Of a description (Evaluator::description). nullopt: the blueprint leaves its CRD to others. `faults` gets
/// what no CRD can be made of, or what would lose data: names, defaults that break their own contract,
/// versions of which one can't be read as the other. One that is in force gets the CRD that older operators
/// made of it.
std::optional<CustomResource> read_resource(const Value& description, std::vector<Error>& faults,
                                            Standing standing = Standing::New);

/// Faults of a contract itself, that of `part` ("spec", "status"): nothing meets it, or a default of it is
/// none. read_resource() finds them too, where it makes a CRD. Without one a default may be computed from
/// other fields.
std::vector<std::string> contract_faults(const Value& description, std::string_view part,
                                         const std::string& version);

/// The CRD, as it is applied.
Value crd_of(const apimachinery::GroupVersionKind& kind, const CustomResource& resource);

/// "deployments", as the plural of a kind usually is.
std::string usual_plural(std::string_view kind);

}  // namespace mist::blueprint
