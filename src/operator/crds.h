#pragma once
// The CRDs of blueprints: applied, awaited, or published for a person, as each blueprint says. A watch of
// that one CRD shows when it comes, changes or goes. A change that would break objects or clients is refused:
// nothing is written then. One thread; informers' threads wake.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/event.h"
#include "blueprint/blueprint.h"
#include "kube/informer.h"
#include "operator/conversion_webhook.h"
#include "operator/observer.h"

namespace mist::operator_ {

/// On blueprints, by people: the next change of the CRD may break what is there.
inline constexpr std::string_view kBreakingAnnotation = "mistletoe.dev/allow-breaking-changes";

class Crds {
 public:
  enum class Role : std::uint8_t {
    Writes,
    Waits,  ///< another replica writes what has to be written
  };
  struct Dependencies {
    kube::Client& client;
    Clock& clock;
    EventSink& events;
    Role role = Role::Writes;
    ConversionWebhook* webhook = nullptr;  ///< null: this operator has none
  };
  /// `ns`: of the blueprints. `wake`: a blueprint's CRD changed.
  Crds(Dependencies dependencies, std::string ns, Observer::Wake wake);

  enum class Breaking : std::uint8_t {
    Refused,
    Allowed,   ///< a person said so
    Restored,  ///< what is in force is only restored
  };
  /// Empty: the CRD is there, fits, and is served, or the blueprint leaves it to others. Else what is waited
  /// for; the blueprint is woken then. `files`: of the blueprint. Errors: Invalid, with all reasons: another
  /// revision of the blueprint or of the CRD is needed. Forbidden: the account may not see the CRD that the
  /// operator is to apply. NotFound: the account may not see CRDs, and the server doesn't serve the kind yet,
  /// or the conversion webhook doesn't answer, which nobody tells when it does. Others: of requests.
  Result<std::string> see_to(const std::string& blueprint, const blueprint::Blueprint& described,
                             const package::Files& files, Breaking breaking, const Context& context);
  /// Whether it is known whether the blueprint's CRD is there.
  bool has_seen(const std::string& blueprint) const {
    const auto watched = watched_.find(blueprint);
    return watched != watched_.end() && watched->second.informer && watched->second.informer->synced();
  }
  /// Why the CRD of a blueprint that is in force wouldn't do for a new one, as see_to() found last.
  std::vector<std::string> tolerated(const std::string& blueprint) const {
    const auto watched = watched_.find(blueprint);
    return watched == watched_.end() ? std::vector<std::string>() : watched->second.tolerated;
  }
  /// The blueprint is gone. Its CRD stays: with it all instances would go.
  void forget(const std::string& blueprint) { watched_.erase(blueprint); }

 private:
  struct Watched {
    std::string crd;
    std::unique_ptr<kube::Informer> informer;
    std::vector<std::string> tolerated = {};
    std::vector<std::string> conversion_told = {};  // what the log has of its spec.conversion
  };
  Result<kube::Informer*> informer(const std::string& blueprint, const std::string& crd,
                                   const Context& context);
  Result<std::string> await_unseen(const std::string& blueprint, const blueprint::Blueprint& described,
                                   const std::string& crd, const Error& refusal, const Context& context);
  Result<std::string> manage(const std::string& blueprint, const blueprint::CustomResource& resource,
                             Value wanted, const std::optional<Conversion>& conversion, Breaking breaking,
                             Watched& watched, const Context& context);
  Status see_to_conversion(const Conversion& conversion, const Value& wanted, const Value* live,
                           const kube::Informer& crds, const Context& context);
  Result<std::string> await(const std::string& blueprint, const blueprint::CustomResource& resource,
                            const Value& wanted, Breaking breaking, Watched& watched) const;
  Status publish(const std::string& blueprint, const Value& wanted, const Context& context);
  Status may_change(const std::string& blueprint, const blueprint::CustomResource& resource,
                    const Value& live, const Value& wanted, Breaking breaking, const Context& context) const;
  bool is_gone(std::string_view blueprint, const Context& context) const;
  Status write(const std::string& blueprint, const Value& wanted, bool create, kube::Informer& crds,
               const Context& context);
  std::string owner_of(const std::string& blueprint) const { return ns_ + "/" + blueprint; }

  Dependencies dependencies_;
  const std::string ns_;
  const Observer::Wake wake_;
  std::map<std::string, Watched> watched_;  // by blueprint
};

}  // namespace mist::operator_
