#pragma once
// The functions between the versions of blueprints' kinds, as the CRDs in force have them: each in a
// ConfigMap of its own beside the blueprint, `NAME-conversion`, which the replica that writes the CRD writes
// before it. So every replica converts alike, also one that waits, one that has just started, and while the
// blueprint's ConfigMap holds a revision that is rejected or none at all. Any thread.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "apimachinery/gvk.h"
#include "base/clock.h"
#include "base/event.h"
#include "blueprint/evaluator.h"
#include "kube/informer.h"
#include "operator/conversion_review.h"

namespace mist::operator_ {

/// Of ConfigMaps: they hold such functions.
inline constexpr std::string_view kConversionLabel = "mistletoe.dev/conversion";

/// The functions by which versions of a CRD are converted.
struct Conversion {
  std::string blueprint;  ///< its name
  apimachinery::GroupVersionKind hub;
  std::vector<std::string> versions;  ///< all of them
  package::Files files;
};

class Conversions {
 public:
  struct Dependencies {
    kube::Client& client;  ///< as the operator
    package::Renderer& renderer;
    Clock& clock;
    EventSink& events;
  };
  /// `ns`: of the blueprints. All of `dependencies` outlives this.
  Conversions(Dependencies dependencies, std::string ns);
  ~Conversions();
  Conversions(const Conversions&) = delete;
  Conversions& operator=(const Conversions&) = delete;

  /// Returns when it knows all that are there. `changed` is called, on a thread of its own, when one of them
  /// is another afterwards: somebody may have written or deleted it. Errors: those of the first requests;
  /// Cancelled.
  Status start(std::function<void()> changed, const Context& context);
  /// Writes what is to be in force, where it isn't yet. `crd`: of the kind, with which it is removed; null:
  /// it isn't there yet. Errors: Invalid: a ConfigMap of that name is somebody else's, or the files are too
  /// large for one; of the request.
  Status publish(const Conversion& conversion, const Value* crd, const Context& context);
  /// The kind that the functions of that blueprint convert; empty: it has none in force.
  std::string kind_of(const std::string& blueprint);
  /// Answers a ConversionReview about the kind of that blueprint, within `kPatience`. Errors are of the
  /// review as a whole, and go to whoever asked the API server.
  Result<std::vector<Value>> convert(const std::string& blueprint, const ConversionReview& review,
                                     const Context& context);

  /// The API server waits for 30 s.
  static constexpr Duration kPatience = std::chrono::seconds(25);
  /// Beyond them reviews of one blueprint are refused: its functions may take long, and others are asked for
  /// too. A client's write needs up to four, one after the other.
  static constexpr int kMostAtOnce = 100;

 private:
  struct InForce;
  std::shared_ptr<InForce> in_force(const std::string& blueprint);
  Status convert_version(InForce& by, const std::string& from, const ConversionReview& review,
                         std::vector<Value>& objects, const Context& context);
  Result<Value> convert_partial(InForce& by, const std::string& from, const std::string& to, Value parts,
                                const Context& context);
  Result<const Value*> schema_of(InForce& by, const std::string& version, const Context& context);

  Result<Value> put(const Value& map, const std::string& owner, const Context& context);

  Dependencies dependencies_;
  const std::string ns_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<InForce>> in_force_;  // by blueprint; guarded by mutex_
  std::unique_ptr<kube::Informer> maps_;
};

}  // namespace mist::operator_
