#pragma once
// Which storage classes bind a claim only when a Pod uses it (volumeBindingMode WaitForFirstConsumer): a
// claim doesn't say so itself. Each class is read once, when the first claim asks. Any thread.

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "apply/wait/readiness.h"
#include "base/context.h"
#include "kube/client.h"

namespace mist::apply {

/// True for a storage class whose claims bind only when a Pod uses them.
using BindsLate = std::function<bool(std::string_view storage_class)>;

/// readiness() that takes a pending claim of such a class for ready as long as no Pod uses it.
Readiness readiness(const encoding::Value& live, const BindsLate& binds_late);

class BindingModes {
 public:
  explicit BindingModes(kube::Client& client) : client_(client) {}

  /// False also for a class that isn't there or may not be read: then the claim is waited for.
  bool binds_late(std::string_view storage_class, const Context& context);
  /// For readiness(); refers to this object and to `context`.
  BindsLate as_rule(const Context& context) {
    return [this, &context](std::string_view name) { return binds_late(name, context); };
  }

 private:
  kube::Client& client_;
  std::mutex mutex_;
  std::map<std::string, bool, std::less<>> known_;  // guarded by mutex_
};

}  // namespace mist::apply
