#pragma once
// Where a kind is served that the API server doesn't serve in the version that was asked for: in another
// version, or in none. For one look at an instance, which learns it once of each kind: each try to find a
// kind that isn't served loads discovery again, and an instance may have many objects of it. One thread.

#include <map>
#include <string>
#include <utility>

#include "apimachinery/gvk.h"
#include "base/context.h"
#include "base/result.h"
#include "kube/client.h"
#include "reconcile/record.h"

namespace mist::operator_ {

struct OtherVersion {
  std::string api_version = {};  ///< in which it is served now; empty: in none, or nobody can tell
  bool is_nowhere = false;       ///< it is served in no version

  bool is_served() const { return !api_version.empty(); }
  /// The same object there.
  reconcile::ObjectId of(const reconcile::ObjectId& id) const {
    return {api_version, id.kind, id.ns, id.name};
  }
};

class OtherVersions {
 public:
  explicit OtherVersions(kube::Client& client) : client_(client) {}

  /// The failure of the first try to find objects of that kind, where each other one would fail like it.
  /// Null: nobody has tried, or it isn't known why that failed. `owned`: as in Observer::observe().
  const Error* failure(const apimachinery::GroupVersionKind& kind, bool owned) const;
  /// After such a failure. Neither, where the kind is served in its version, or nobody can tell.
  OtherVersion find(const apimachinery::GroupVersionKind& kind, bool owned, const Error& failure,
                    const Context& context);

 private:
  OtherVersion look_up(const apimachinery::GroupVersionKind& kind, const Context& context) const;

  kube::Client& client_;
  std::map<apimachinery::GroupVersionKind, OtherVersion> found_;
  std::map<std::pair<apimachinery::GroupVersionKind, bool>, Error> failures_;
};

}  // namespace mist::operator_
