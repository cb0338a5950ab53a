#pragma once
// Which of the objects that nothing wants any more are deleted now. Node by node, from the record alone: an
// object goes after everything that came after it is gone, and after everything that has its values has been
// written without them; unless a person says by kOutOfOrderAnnotation of the instance that it needn't wait.
// Pure; any thread.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "reconcile/decide.h"

namespace mist::reconcile {

struct Survivors {
  /// Of objects whose values what stays still has, or may have: text_of_key of their ids' texts.
  std::set<std::string> used;
  /// Nodes whose objects stay until an act has run that is to run before: its name.
  std::map<std::string, std::string> held = {};
  /// Jobs of inputs that such an act no longer has: they don't wait for it.
  std::set<ObjectId> freed = {};
};

/// Whether a person lets the objects of that node go before their turn, or doesn't want that act any more.
bool goes_out_of_order(const Value& instance, std::string_view node);

/// Adds to `plan` what becomes of `going`: deletes and releases, reports, and what stays in the record.
void prune(const std::vector<Recorded>& going, const Survivors& survivors, const Value& instance,
           const Queries& queries, Plan& plan);

}  // namespace mist::reconcile
