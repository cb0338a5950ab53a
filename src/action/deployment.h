#pragma once
// One run under the lock: lock, journal, write, wait, prune, finish. docs/formats/release.md has the order of
// its writes, and what each leaves when the process dies after it. One thread.

#include <memory>
#include <optional>
#include <string>

#include "action/look.h"
#include "apply/execute.h"

namespace mist::action {

/// Options that shape the result, as a revision records them.
encoding::Value recorded_options(const DeployOptions& options);

class Deployment {
 public:
  /// `look` was just made and outlives this.
  Deployment(const Environment& environment, const Look& look, std::string action);

  /// release::anchor_moved(error): the release changed since the look, and nothing was written. Any other
  /// failure after the journal is in the record, unless the lock was lost.
  Status run(const Context& context);

 private:
  release::Head head(release::RevisionStatus status) const;
  release::AnchorChange announcement() const;
  Status lock(const Context& context);
  Status journal();
  apply::Execution write();
  std::optional<Error> wait();
  void prune(apply::Execution& execution);
  const apimachinery::Object* recorded(const apimachinery::ObjectKey& key) const;
  Status finish(release::RevisionStatus status);
  Status stop(Error failure);

  const Environment& environment_;
  const Look& look_;
  release::Store store_;
  release::Revision revision_;
  std::unique_ptr<release::ReleaseLock> lock_;
  bool stored_ = false;
};

}  // namespace mist::action
