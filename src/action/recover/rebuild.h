#pragma once
// A release's record rebuilt from what is in the cluster: from the labels on live objects, and from what can
// still be read of the record. For records that were damaged or lost, and for objects that no record names.
// Nothing but the record is written. Blocking; any thread.

#include <vector>

#include "action/environment.h"

namespace mist::action {

struct RebuildPlan {
  ReleaseState state;
  release::Revision revision;                       ///< as it will be recorded
  std::vector<apimachinery::ObjectKey> discovered;  ///< of these, what no readable record names
  std::vector<std::string> own_namespace_only;      ///< Labelled::own_namespace_only
  bool new_seed = false;     ///< the old one is lost: what packages draw at random will be different
  bool values_lost = false;  ///< of the deployed revision
  bool new_key = false;      ///< of its seals: there was none, or it is lost
  int unproven = -1;    ///< the revision that would tell more, if anything proved that it is the release's
  bool needed = false;  ///< else the record names all that is there
};

/// Reads only. NotFound: neither a record nor an object with the release's labels is there. Conflict: it is
/// half uninstalled, or a revision did not end that can be read and so be ended.
/// `trust`: its user vouches for the newest revision that is kept, whatever its seal says.
Result<RebuildPlan> plan_rebuild(const Environment& environment, ReleaseState state, bool trust,
                                 const Context& context);

/// Writes the planned revision, as deployed, and the anchor if it is missing. anchor_moved(error) when the
/// release changed since it was read.
Status rebuild(const Environment& environment, RebuildPlan& plan, const Context& context);

}  // namespace mist::action
