#pragma once
// The error of an object whose own fields the server found wrong: 422 with a cause for each field, as
// validation against the schema of its kind gives. Admission, which may decide otherwise once something else
// is written, gives other causes, or none. Any thread.

#include <algorithm>
#include <string_view>

#include "base/error.h"

namespace mist::kube {

inline constexpr std::string_view kInvalidFieldsFrame = "while the server validated its fields";

inline bool names_invalid_fields(const Error& failure) {
  return std::ranges::find(failure.frames, kInvalidFieldsFrame) != failure.frames.end();
}

}  // namespace mist::kube
