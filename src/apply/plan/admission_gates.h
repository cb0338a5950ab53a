#pragma once
// Changes of a plan to the admission that refuses its other writes: a policy is loosened, its parameters
// change, a binding or a webhook configuration goes. The server judges each write by the policies that are in
// force at that moment, so these changes come first. Blocking; any thread.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "apply/plan/observe.h"
#include "apply/plan/plan.h"

namespace mist::apply {

/// Changes of a plan that may turn a refusal into consent, by their places in it.
struct Gates {
  std::vector<std::size_t> writes = {};    ///< in Plan::writes
  std::vector<std::size_t> removals = {};  ///< in Plan::removals
  bool empty() const { return writes.empty() && removals.empty(); }
};

/// Finds them. It reads policies that aren't the plan's, each once. Blocking; one thread; what it is made of
/// must outlive it.
class GateFinder {
 public:
  /// `live` needs to have webhook configurations alone.
  GateFinder(kube::Client& client, const Plan& plan, const LiveState& live, const Context& context)
      : client_(client), plan_(plan), live_(live), context_(context) {}

  /// Of a refusal of `refused`, an action of the plan, by `names` (kube::denied_by()).
  Gates gates_of(const PlannedAction& refused, const std::vector<std::string>& names);

 private:
  const std::set<GroupKind>& parameters_of(const std::vector<std::string>& names);

  kube::Client& client_;
  const Plan& plan_;
  const LiveState& live_;
  const Context& context_;
  std::map<std::vector<std::string>, std::set<GroupKind>> parameters_;
};

/// Whether the plan changes or deletes such an object: the earlier one may refuse what the plan creates.
bool changes_admission(const Plan& plan);

/// Refusals by a policy or a webhook that the plan itself writes or deletes become what they were, and what
/// refused them is `first`. Whether it lets them pass then only the server can say. Of policies that aren't
/// the plan's, parameters are. Where the declared order puts them behind, the refusal stays. Errors: those of
/// infer_order() and of the context.
Status put_gates_first(kube::Client& client, Plan& plan, const LiveState& live, const Context& context);

/// Whether `gate` is the policy, its binding or the configuration of the webhook that refused a request, by
/// `names` (kube::denied_by(), kube::unanswering_webhook()).
bool refuses(const PlannedAction& gate, const LiveState& live, const std::vector<std::string>& names);

/// Of a webhook that must be asked and doesn't answer: whether nothing in the plan may repair it, neither
/// what answers for it nor its configuration. False for other failures.
bool stays_unanswered(const Plan& plan, const Error& failure);

/// The names of all that is `first` as kube::denied_by() has them: for a moment after it is written, the
/// server may still judge by what it was.
std::set<std::string, std::less<>> names_of_first(const Plan& plan);
/// The same of writes or removals alone.
std::set<std::string, std::less<>> names_of_first(const std::vector<PlannedAction>& actions);

/// The names of all that the plan changes or deletes of admission, and of what is `first`: the server may
/// still judge its last requests by what these were.
std::set<std::string, std::less<>> names_of_gates(const Plan& plan);
/// The same of removals alone.
std::set<std::string, std::less<>> names_of_gates(const std::vector<PlannedAction>& removals);

/// Whether a request was refused by one of these, which are on their way out: it may be sent again.
bool is_refused_by(const Error& failure, const std::set<std::string, std::less<>>& names);

}  // namespace mist::apply
