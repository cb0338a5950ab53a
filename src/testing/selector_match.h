#pragma once
// Label and field selectors as the API server evaluates them on a LIST. Pure functions; any thread.

#include <string_view>

#include "base/result.h"
#include "encoding/value.h"

namespace mist::testing {

/// `a=b,c!=d,e in (x,y),f notin (z),g,!h,i>1,j<1`. Invalid (the server's 400) when it doesn't parse.
Result<bool> matches_labels(std::string_view selector, const encoding::Value& object);
/// `metadata.name=x,involvedObject.uid!=y`: equality of strings at dotted paths.
Result<bool> matches_fields(std::string_view selector, const encoding::Value& object);

}  // namespace mist::testing
