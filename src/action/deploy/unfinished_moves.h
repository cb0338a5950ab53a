#pragma once
// Moves of objects between releases (take_over.h) that ended for one of the two only: the revision that took
// the objects is deployed, and its run died before the release that they came from forgot them. That one's
// record would name them for ever, and drift --fix there would recreate what their release deletes. Reads
// only. Blocking; any thread.

#include <vector>

#include "action/environment.h"

namespace mist::action {

struct UnfinishedMove {
  release::ReleaseId from;                  ///< its record names them
  release::ReleaseId to;                    ///< they are this one's for good
  std::vector<apply::InventoryItem> items;  ///< as `to` has them
  bool head_behind = false;                 ///< the anchor of `to` does not say yet that it is deployed
};

/// Of the inventory of a deployed revision of `taker`: the objects that it took from `source`, whose record
/// names them all the same. Those with the labels of `source` aren't among them, nor those that it took back.
Result<std::vector<apply::InventoryItem>> still_named(const Environment& environment,
                                                      const release::ReleaseId& taker,
                                                      const std::vector<apply::InventoryItem>& inventory,
                                                      const ReleaseState& source, const Context& context);

/// Those to a release, whose newest revision is deployed.
Result<std::vector<UnfinishedMove>> unfinished_moves_to(const Environment& environment,
                                                        const ReleaseState& state, const Context& context);
/// Those from a release, by the labels of the objects in its record. Objects that can't be read are left out.
Result<std::vector<UnfinishedMove>> unfinished_moves_from(const Environment& environment,
                                                          const ReleaseState& state, const Context& context);

/// Takes its items out of an inventory of `from`; whether there were any.
bool forget(std::vector<apply::InventoryItem>& inventory, const UnfinishedMove& move);

/// The revision that is deployed, also where the anchor does not say so yet; null: there is none.
const release::Revision* settled_revision(const ReleaseState& state);

}  // namespace mist::action
