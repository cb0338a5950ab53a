#pragma once
// Which parts of a Secret hold its data, and what stands there for readers who did not ask for it. Every view
// of objects decides by this: `diff`, `drift`, `inspect release`. Pure; any thread.

#include <string_view>

#include "apimachinery/object.h"
#include "encoding/value.h"

namespace mist::action {

/// Whether the field at `path` (".data.key") of an object of this kind is data of a Secret, lies in it, or
/// has it inside: `data`, `stringData`, and the annotation in which kubectl keeps all that it applied.
bool holds_secret_data(const apimachinery::GroupKind& kind, std::string_view path);

/// Puts render::HiddenValues::kMask in the place of the data, if `object` is a Secret.
void mask_secret_data(const apimachinery::GroupKind& kind, encoding::Value& object);
/// The same for two states of one object: equal values stay equal, and others differ. Null: it isn't there.
void mask_secret_data(const apimachinery::GroupKind& kind, encoding::Value& before, encoding::Value& after);

}  // namespace mist::action
