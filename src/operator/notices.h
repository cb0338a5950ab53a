#pragma once
// The Kubernetes Events on instances and blueprints that people see with `kubectl describe`. An Event is
// written when something changes, never again; failing to write it is not a failure. Any thread.

#include <atomic>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/event.h"
#include "kube/client.h"

namespace mist::operator_ {

using encoding::Value;

class Notices {
 public:
  Notices(kube::Client& client, Clock& clock, EventSink& events)
      : client_(client), clock_(clock), events_(events) {}

  /// `conditions`: as they are written now; `instance` as it was before.
  void of_instance(const Value& instance, const Value& conditions, const Context& context);
  void tell(const Value& about, bool warning, std::string_view reason, std::string_view message,
            const Context& context);

 private:
  kube::Client& client_;
  Clock& clock_;
  EventSink& events_;
  std::atomic<std::uint64_t> told_ = 0;
};

}  // namespace mist::operator_
