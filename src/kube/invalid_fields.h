#pragma once
// The error of an object whose own fields the server found wrong: 422 with a cause for each field, as
// validation against the schema of its kind gives. Admission, which may decide otherwise once something else
// is written, gives other causes, or none. Any thread.

#include <string>
#include <string_view>

#include "base/error.h"

namespace mist::kube {

inline constexpr std::string_view kInvalidFieldsFrame = "while the server validated its fields";

/// The frame that names the first of them, as its server wrote it: "spec.containers[0].image".
inline std::string invalid_field_frame(std::string_view field) {
  return std::string(kInvalidFieldsFrame) + ": " + std::string(field);
}

/// The first of those fields; empty: the error isn't one about fields.
inline std::string_view invalid_field(const Error& failure) {
  for (const std::string_view frame : failure.frames)
    if (frame.starts_with(kInvalidFieldsFrame) && frame.size() > kInvalidFieldsFrame.size() + 2)
      return frame.substr(kInvalidFieldsFrame.size() + 2);
  return {};
}

inline bool names_invalid_fields(const Error& failure) { return !invalid_field(failure).empty(); }

}  // namespace mist::kube
