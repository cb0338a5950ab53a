#pragma once
// What a render needs to know of the release that it is for. Plain values; any thread.

#include <string>

#include "base/secret.h"
#include "release/record.h"

namespace mist::render {

/// What a release draws once, when it is born, and keeps: with it, rendering is a function of its inputs.
struct Birth {
  SecretString seed;         ///< 32 bytes
  std::string frozen_clock;  ///< RFC 3339
};

struct ReleaseFacts {
  release::ReleaseId id;
  Birth birth;
  int revision = 0;  ///< the number that this render gets
  /// Both outlive the call that they are given to. Null: there is none.
  const release::Revision* deployed = nullptr;
  const release::Revision* stored = nullptr;  ///< whose package and values the release has
};

}  // namespace mist::render
