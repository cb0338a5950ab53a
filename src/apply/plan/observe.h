#pragma once
// Reads everything that a release wants or owns from the cluster, with few requests: one LIST of our objects
// for each resource and namespace where the release owns any; the other wanted objects by one metadata-only
// LIST, or by GET when it is a single object or LIST is forbidden. Objects that have the release's mark come
// back whole, others as metadata.

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "apply/plan/desired.h"
#include "base/context.h"
#include "kube/client.h"

namespace mist::apply {

struct LiveObject {
  Value value;
  bool whole = false;  ///< false: metadata only
};
using LiveState = std::map<ObjectKey, LiveObject>;

/// Why an object can't be read in the wanted version.
struct Unconverted {
  std::string crd;     ///< name of the CustomResourceDefinition whose webhook fails, or that serves nothing
  std::string words;   ///< conversion_words()
  std::string hint;    ///< conversion_hint()
  bool served = true;  ///< false: no version of the kind is, whatever converts it
};

/// The objects that are needed whole beside the release's own.
struct ObserveOptions {
  bool adopt = false;                        ///< what is wanted and belongs to nobody
  std::optional<Owner> take_over_from = {};  ///< that release's
  /// Takes owned objects whose API doesn't answer, and why, in place of an error: one that discovery says is
  /// down, and one of somebody else's kinds that fails when it is asked for them.
  std::map<ObjectKey, std::string>* unreachable = nullptr;
  /// Takes objects that we may neither list nor get, and that in words, in place of an error. For who only
  /// looks; may be the same map.
  std::map<ObjectKey, std::string>* forbidden = nullptr;
  /// Takes objects that can't be read because the conversion webhook of their kind fails (conversion.h), with
  /// the reason in words, in place of an error. Objects that can be read in another version are in the state,
  /// as metadata.
  std::map<ObjectKey, Unconverted>* unconverted = nullptr;
  /// Takes wanted kinds that the server turned out not to serve; their objects count as absent.
  std::set<apimachinery::GroupKind>* vanished = nullptr;
};

/// `owned` may name kinds that the cluster no longer knows; those count as absent. Of a kind whose API
/// service doesn't answer (kube/api_down.h) that isn't known, and is an error, but for what the release
/// itself brings that API service for: what it writes again now, and what nobody ever saw there.
Result<LiveState> observe(kube::Client& client, const Owner& release,
                          const std::vector<DesiredObject>& desired, const std::vector<InventoryItem>& owned,
                          const Context& context, const ObserveOptions& options = {});

/// After a CRD has changed, the server's discovery and the kinds that it serves agree a moment later:
/// so often, and with that pause, discovery is asked about a kind that isn't served as it said.
inline constexpr int kTriesToAgree = 10;
inline constexpr auto kPauseToAgree = std::chrono::milliseconds(100);

/// The fact of an error of resource_of(): a CRD has the kind and serves no version of it, so its
/// objects are there and nothing can be known of them.
struct UnservedCrd {
  std::string name;
};

/// How the server serves what the inventory names; nullopt: its kind is gone, or has another scope by now,
/// and with it the object. An object that was recorded in a namespace, and is there without one under the
/// recorded uid, isn't gone. kube/api_down.h, UnservedDefinition: that can't be known.
Result<std::optional<kube::ResourceInfo>> resource_of(kube::Client& client, const InventoryItem& item,
                                                      const Context& context);

/// Whether a failure of resource_of() says that an object's API service doesn't answer, and nothing is lost
/// if the object counts as absent: nobody ever saw it, and that API service is one of the release's own
/// `keys`.
bool never_seen(const Error& failure, const InventoryItem& item, const std::vector<ObjectKey>& keys);

}  // namespace mist::apply
