#pragma once
// How a release's objects differ from what its deployed revision has recorded: fields that somebody changed
// or removed, objects that are gone or replaced, and who did it. Read with the same few LISTs as a plan;
// nothing is written, and nothing is rendered. reapply_intent (deploy.h) repairs it.

#include <string>
#include <vector>

#include "action/deploy/deploy.h"
#include "apply/fields/field_owners.h"
#include "render/hidden_values.h"

namespace mist::action {

enum class DriftKind : std::uint8_t {
  Changed,   ///< fields differ
  Missing,   ///< it isn't there
  NotOurs,   ///< another object has its name, or its ownership labels were removed
  LeftOver,  ///< a later revision that didn't end left it
  Foreign,   ///< as recorded, but others set fields on it: no drift by itself
  Finished,  ///< a Job that has ended and removed itself: no drift
  Unknown,   ///< we may not read it, or nobody can: no drift that anybody could see
};
/// "changed", "missing", "not ours", "left over", "foreign", "unknown"
std::string_view to_string(DriftKind kind);

/// A field that isn't as recorded.
struct FieldDrift {
  std::string path;
  encoding::Value recorded;           ///< null: nothing should be there
  encoding::Value live;               ///< null: it isn't there
  std::vector<std::string> managers;  ///< who owns it now, the latest first; empty: the server doesn't say
  std::string time;                   ///< RFC 3339, when the first of them last wrote; empty: unknown
};

struct ObjectDrift {
  apimachinery::ObjectKey key;
  DriftKind kind = DriftKind::Changed;
  std::string reason;  ///< one sentence
  std::string file;    ///< of the recorded object, inside the package; empty: unknown
  std::uint32_t line = 0;
  std::vector<FieldDrift> fields;
  /// Fields that others set and that we did not record, or recorded with the same value; without the
  /// cluster's own controllers.
  std::vector<apply::ForeignField> foreign;
  bool forbidden = false;  ///< Unknown because we may not read it; otherwise nobody can
};

struct DriftReport {
  release::ReleaseId id;
  int revision = 0;         ///< the deployed one, which is compared
  std::size_t objects = 0;  ///< how many it has
  bool unfinished = false;  ///< a later revision didn't end
  std::vector<ObjectDrift> found;
  render::HiddenValues hidden = {};  ///< of looked-up Secrets, in the fields of all of them

  /// Whether anything isn't as recorded; `strict`: fields that only others set, and what could not be
  /// read, count too.
  bool drifted(bool strict) const;
  std::size_t count(DriftKind kind) const;
};

/// NotFound: there is no such release. Conflict: it was never deployed, or is half uninstalled.
Result<DriftReport> drift(const Environment& environment, const release::ReleaseId& id,
                          const Context& context);

struct FixOptions {
  bool adopt = false;  ///< also over objects of the same name that belong to nobody
  int history_max = DeployOptions().history_max;  ///< as there: a fix is a revision
};

/// Applies what is recorded once more, over whatever others changed. There is no new revision when nothing
/// drifted, or when the server refuses to change anything back and to delete what is left over.
Result<DeployReport> fix_drift(const Environment& environment, const release::ReleaseId& id,
                               const FixOptions& fix, const Context& context);

}  // namespace mist::action
