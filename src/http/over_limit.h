#pragma once
// The error of an answer that is larger than Request::response_limit: asked for less, the server may answer.
// Any thread.

#include <algorithm>
#include <string_view>

#include "base/error.h"

namespace mist::http {

inline constexpr std::string_view kOverLimitFrame = "while reading an answer of limited size";

inline bool is_over_limit(const Error& failure) {
  return std::ranges::find(failure.frames, kOverLimitFrame) != failure.frames.end();
}

}  // namespace mist::http
