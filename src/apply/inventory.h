#pragma once
// The objects that an owner has in the cluster, as its record keeps them. The JSON form is the record's
// (release/record.h). Plain values; any thread.

#include <string>
#include <vector>

#include "apimachinery/object.h"

namespace mist::apply {

using apimachinery::ObjectKey;
using apimachinery::RenderedObject;

/// A field that the server stored otherwise than it was applied (apply/fields/server_made.h).
struct ServerMade {
  std::string path = {};
  std::string digest = {};  ///< of the wanted and the stored value
  friend bool operator==(const ServerMade&, const ServerMade&) = default;
};

/// One object that is the owner's.
struct InventoryItem {
  ObjectKey key;
  std::string version;     ///< API version that it was written with
  std::string uid;         ///< empty: planned to be created, not known to exist
  int revision = 0;        ///< the one that last changed it: the N of kVersionLabel
  bool retained = false;   ///< no longer wanted, left in the cluster by a prune rule
  bool adopted = false;    ///< existed before
  bool replacing = false;  ///< being deleted and recreated: what carries our mark is it, whatever its uid
  bool hook = false;       ///< of a chart: it comes and goes, and its absence says nothing
  bool ended = false;      ///< of Jobs that remove themselves: it was seen to have completed
  /// Of adopted ones: what its earlier managers owned became ours (apply/fields/field_transfer.h). False in
  /// records of a Mistletoe that left it to them.
  bool fields_taken = false;
  /// Owner::display() of the one that it was taken over from, as long as that one names it too.
  std::string taken_from = {};
  /// Why it isn't as the revision has it: it couldn't be changed back (apply/plan/left_as_is.h). Empty: it
  /// is.
  std::string left = {};
  std::vector<ServerMade> server_made = {};  ///< when it was last applied
};

/// True for a hook of which the record only has the name: no run is known to have written it.
inline bool is_only_named(const InventoryItem& item) {
  return item.hook && item.uid.empty() && !item.replacing;
}

}  // namespace mist::apply
