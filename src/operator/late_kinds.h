#pragma once
// Instances that wait until the server serves a kind: they are looked at again when a CRD of its group
// comes or changes, and not only when their back-off ends. One watch of the metadata of all
// CustomResourceDefinitions, which is there only while somebody waits, and needs the rights `list` and
// `watch` on them; without these the back-off remains. One thread asks; the watch's wakes.

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "operator/observer.h"

namespace mist::operator_ {

class LateKinds {
 public:
  /// `wake` is called on the watch's thread. References outlive this.
  LateKinds(kube::Client& client, Clock& clock, EventSink& events, Observer::Wake wake);

  /// The groups of the kinds that an instance misses from now on; none: it waits no more.
  void set(const Item& item, const std::set<std::string>& groups);
  bool is_watching() const { return informer_ != nullptr; }

 private:
  void changed(const std::optional<kube::Informer::Key>& key);

  kube::Client& client_;
  Clock& clock_;
  EventSink& events_;
  const Observer::Wake wake_;
  std::map<Item, std::set<std::string>> missed_;  // the asking thread's
  std::optional<SteadyTime> refused_until_;
  std::mutex mutex_;
  std::map<std::string, std::set<Item>> waiting_;  // by group; guarded by mutex_
  std::unique_ptr<kube::Informer> informer_;       // last: its thread uses what stands above
};

}  // namespace mist::operator_
