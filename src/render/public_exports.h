#pragma once
// A package's exports to its callers (docs/calling.md), as far as everybody who may read a status may see
// them: without those that depend on a secret. Pure; any thread.

#include <string>
#include <vector>

#include "encoding/value.h"
#include "render/hidden_values.h"

namespace mist::render {

struct PublicExports {
  encoding::Value values = {};           ///< null: there are none
  std::vector<std::string> hidden = {};  ///< paths of what was left out: ".users[0].password"; ".": all
};

/// All of it is left out.
PublicExports hidden_exports();

/// `other`: the exports of a render that differs in nothing but its secrets; what isn't the same there
/// depends on one. Null: there is no such render. A list keeps its items or is left out, so that an index
/// means the same; so is an object of which a key is secret.
PublicExports public_exports(const encoding::Value& exports, const encoding::Value* other,
                             const HiddenValues& secrets);

/// The values with other secrets in the place of these: a letter for a letter, and a digit for a digit.
encoding::Value with_other_secrets(encoding::Value values, const HiddenValues& secrets);

}  // namespace mist::render
