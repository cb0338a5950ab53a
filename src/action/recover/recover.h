#pragma once
// Ends what somebody began and never ended: a pending or failed revision is finished from its record, or
// undone; a half uninstalled release is uninstalled, or applied again. Reading commands only report such a
// state; the next install or upgrade takes over from it by itself. Blocking; any thread.

#include <functional>
#include <optional>

#include "action/deploy/deploy.h"
#include "action/recover/rebuild.h"
#include "action/uninstall.h"

namespace mist::action {

struct RecoverOptions {
  bool undo = false;
  DeployOptions deploy;  ///< its dry run: only say what would be done
  /// Asked before objects of a first install that never ended are deleted, and before a dead holder's lock is
  /// waited for; once more if the wait leads to others. Empty: yes.
  std::function<Result<bool>(const UninstallPlan&)> approve = {};
  /// Instead: record what carries the release's labels. `agree` is asked before anything is written; empty:
  /// yes.
  bool from_labels = false;
  /// With that: the newest revision that is kept is believed whatever its seal says. Its user has looked at
  /// it.
  bool trust_record = false;
  std::function<Result<bool>(const RebuildPlan&)> agree = {};
};

enum class Recovered : std::uint8_t {
  Nothing,      ///< nothing was unfinished
  Settled,      ///< only the record was behind, or ahead of, what is there
  Finished,     ///< the unfinished revision, as a new one
  Undone,       ///< back to the deployed revision, as a new one
  Removed,      ///< a first install that never ended is gone
  Uninstalled,  ///< the uninstall is done
  Rebuilt,      ///< the record was recreated from the labels of objects
};
std::string_view to_string(Recovered outcome);  ///< "nothing", "settled", …

struct RecoverReport {
  release::ReleaseId id;
  Recovered outcome = Recovered::Nothing;
  std::string found;                       ///< "v3 (upgrade) failed: …"; empty: nothing unfinished
  std::optional<DeployReport> deployment;  ///< of Finished and Undone
  std::optional<UninstallReport> removal;  ///< of Removed and Uninstalled
  std::optional<RebuildPlan> rebuilt;      ///< of Rebuilt
  int revision = -1;                       ///< deployed afterwards; -1: none
};

/// NotFound: there is no such release. Cancelled: `approve` said no. Else as deploy() and uninstall().
Result<RecoverReport> recover(const Environment& environment, const release::ReleaseId& id,
                              const RecoverOptions& options, const Context& context);

/// Undoes one revision whose run failed, for --rollback-on-failure. Conflict when somebody else has changed
/// the release since.
Result<RecoverReport> undo_revision(const Environment& environment, const release::ReleaseId& id, int number,
                                    const std::string& attempt, const DeployOptions& options,
                                    const Context& context);

}  // namespace mist::action
