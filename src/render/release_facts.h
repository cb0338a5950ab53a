#pragma once
// Facts about a release that a render for it needs. Plain values; any thread.

#include <string>

#include "base/secret.h"
#include "release/record.h"

namespace mist::render {

/// Drawn once, when a release is born, and kept: with it, rendering is a function of its inputs.
struct FixedInputs {
  SecretString seed;         ///< 32 bytes
  std::string frozen_clock;  ///< RFC 3339
  /// package::RenderRequest::charts_share_seed of a release that has no revision yet.
  bool charts_share_seed = false;
};

struct ReleaseFacts {
  release::ReleaseId id;
  FixedInputs fixed;
  int revision = 0;  ///< the number that this render gets
  /// Both outlive the call that they are given to. Null: there is none.
  const release::Revision* deployed = nullptr;
  const release::Revision* stored = nullptr;  ///< whose package and values the release has
  /// The numbers of secrets (release::Drawn::used) in revisions after the deployed one, which may have
  /// written; for a rotation, in those before it too.
  release::Rotations tried = {};
};

}  // namespace mist::render
