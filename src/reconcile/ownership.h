#pragma once
// The labels by which an object is known: as an instance's own, as somebody else's, as one that the operator
// holds; and what is left without them. Pure; any thread.

#include <string>
#include <string_view>

#include "reconcile/queries.h"

namespace mist::reconcile {

/// Of an own object: it carries the mark of that instance.
bool is_instances(const Value& object, std::string_view uid);
/// It carries the operator's.
bool has_finalizer(const Value& object);
/// Takes the operator's finalizer off an object.
void take_finalizer_off(Value& object);
/// Takes all labels of an instance off an object, and the finalizer with them: nobody would remove that
/// later.
void remove_ownership(Value& object);
/// An owner of it manages it.
bool has_controller(const Value& object);
/// The words for its owner, by the labels of Mistletoe, of a controller, and of those who deploy: "release
/// shop/web", "Deployment web"; empty: nobody's.
std::string owner_words(const Value& object);

}  // namespace mist::reconcile
