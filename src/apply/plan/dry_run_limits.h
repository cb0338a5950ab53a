#pragma once
// Dry runs by which a plan asks the server, many at a time. All of them are asked only as long as it answers,
// and a webhook that was waited for once isn't waited for again. Any thread.

#include <atomic>

#include "base/context.h"

namespace mist::apply {

class DryRunLimits {
 public:
  explicit DryRunLimits(const Context& context) : context_(context) {}

  /// kube::ApplyOptions::insist of the next question.
  bool insists() const { return insists_; }
  /// After a question failed. Errors: `failure` where it had no answer at all, since the rest would wait as
  /// long for theirs; those of the context.
  Status note(const Error& failure);

 private:
  const Context& context_;
  std::atomic<bool> insists_ = true;
};

}  // namespace mist::apply
