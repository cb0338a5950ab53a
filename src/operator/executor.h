#pragma once
// Carries out what a plan says for one instance: the record first, then everything else at once, then the
// status. Each write names what it was decided on (uid, or that nothing is there), so that a decision that
// came too late changes nothing. Any thread, but each instance is one thread's; it writes with a bounded
// pool.

#include <functional>
#include <mutex>
#include <string>

#include "kube/client.h"
#include "operator/memory.h"
#include "operator/notices.h"
#include "operator/observer.h"
#include "operator/traces.h"
#include "reconcile/decide.h"

namespace mist::operator_ {

class Executor {
 public:
  /// `asking`: whoever uses the observer has it.
  Executor(kube::Client& client, Clock& clock, EventSink& events, Observer& observer, Notices& notices,
           std::mutex& asking)
      : client_(client),
        clock_(clock),
        events_(events),
        observer_(observer),
        notices_(notices),
        asking_(asking) {}

  /// `instances`: the informer that has it. `blueprint`: null if it is gone. `memory`: of it; learns what
  /// failed. `wrote`: something was written that the next decision depends on. The record is stored if the
  /// stored one doesn't say as much; the status isn't, for a moment, after such writes. `item` is what the
  /// log says; `span` gets a child for each request. Errors: of the record, the status, the context; what
  /// fails for a node is in `plan` and `memory`, and is logged.
  struct Outcome {
    bool wrote = false;
  };
  Result<Outcome> carry_out(kube::MultiNamespaceInformer& instances, const Value& instance,
                            const blueprint::Blueprint* blueprint, Plan& plan, Memory& memory,
                            const Item& item, const Span& span, const Context& context);
  /// Of a plan for which something is still being evaluated, as if that had failed: writes its objects if
  /// nothing has to be recorded before, and nothing else. `wrote`: it did.
  Result<Outcome> write_ahead(const Value& instance, Plan& plan, Memory& memory, const Item& item,
                              const Span& span, const Context& context);

 private:
  static bool is_recorded(const Value& instance, const Plan& plan, const Memory& memory);
  Result<Value> write(const reconcile::Apply& each, const Context& context) const;
  Result<bool> empty(const kube::ObjectRef& ref, const reconcile::Apply& each, const Value& there,
                     const Context& context) const;
  Result<kube::ObjectRef> served(const ObjectId& id, const Context& context) const;
  Status remove(const reconcile::Delete& each, const Item& item, const Context& context) const;
  Status let_go(const reconcile::Release& each, const Item& item, const Context& context);
  Result<bool> store(kube::MultiNamespaceInformer& instances, const Value& instance, const Plan& plan,
                     Memory& memory, const Span& span, const Context& context) const;
  Status write_objects(Plan& plan, Memory& memory, const Item& item, Outcome& outcome, const Span& span,
                       const Context& context);
  Status claim(kube::MultiNamespaceInformer& instances, const Value& instance, const std::string& record,
               const Context& context) const;
  void tell_what_may_be_left(const Value& instance, const Context& context);
  Status release(kube::MultiNamespaceInformer& instances, const Value& instance, const Item& item,
                 const Context& context) const;
  bool is_stalled(const kube::ResourceInfo& resource, const Value& instance, const Value& status,
                  const blueprint::Blueprint* blueprint, Memory& memory) const;
  Status write_status(kube::MultiNamespaceInformer& instances, const Value& instance,
                      const blueprint::Blueprint* blueprint, const Plan& plan, Memory& memory,
                      const Span& span, const Context& context) const;
  void remove_objects(Plan& plan, Memory& memory, const Item& item, const Span& span, const Context& context);
  bool is_held(Plan& plan, const Memory& memory, const std::string& node, const ObjectId& id,
               const std::string& input) const;
  void fails(Plan& plan, Memory& memory, const Item& item, const std::string& node, const std::string& input,
             const ObjectId& id, const Error& failure);

  kube::Client& client_;
  Clock& clock_;
  EventSink& events_;
  Observer& observer_;
  Notices& notices_;
  std::mutex& asking_;
};

/// apiVersion, kind and what names the object: where an apply of ours begins.
Value identity(const Value& object);

}  // namespace mist::operator_
