#pragma once
// Helpers for results as JSON: absent is null. Pure; any thread.

#include <string>
#include <string_view>
#include <vector>

#include "apimachinery/object.h"
#include "base/clock.h"
#include "encoding/value.h"

namespace mist::view {

/// JSON's null for what is absent: an empty text, a negative number.
encoding::Value text_or_null(std::string_view text);
encoding::Value number_or_null(int number);

encoding::Value texts_value(const std::vector<std::string>& texts);

/// group, kind, namespace (null: none) and name of an object, and `more` behind them.
encoding::Value identity_value(const apimachinery::ObjectKey& key,
                               std::initializer_list<std::pair<std::string_view, encoding::Value>> more = {});

/// How long before `now` an RFC 3339 time was: "3m20s"; "-" for what is none.
std::string age(WallTime now, std::string_view time);
/// The same in whole seconds; null for what is none.
encoding::Value age_seconds(WallTime now, std::string_view time);

}  // namespace mist::view
