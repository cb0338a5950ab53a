#pragma once
// The answers to the questions of a Kube's script: their names are remembered in the options of a revision,
// the answers are among its values. So an upgrade repeats them, and nobody is shown those that are secret.
// Plain values; any thread.

#include <vector>

#include "base/result.h"
#include "encoding/value.h"
#include "package/pre_install.h"
#include "package/renderer.h"
#include "release/record.h"

namespace mist::render {

struct Answers {
  std::vector<package::Answer> all = {};  ///< ascending by name

  /// Adds those of an earlier revision that weren't asked for now, as long as `values` hold one. They stay
  /// answers, for they stay as secret as they were, and a later revision may ask for them again.
  void keep(const Answers& earlier, const encoding::Value& values);
  friend bool operator==(const Answers&, const Answers&) = default;
};

/// `values`, and the answers of `stored` (may be null) that aren't among them, if `source` has a script that
/// asks. Invalid: `source` is a module that can't be read.
Result<encoding::Value> with_answers(encoding::Value values, const release::Revision* stored,
                                     const package::Source& source);

/// Puts a mask in the place of each secret answer among the revision's values.
void hide_answers(release::Revision& revision);

}  // namespace mist::render
