#pragma once
// The values of a Release, from its spec and from the ConfigMaps and Secrets that it names. Any thread.

#include <string>
#include <vector>

#include "kube/client.h"
#include "package/values.h"
#include "releases/message_mask.h"
#include "releases/resource.h"
#include "render/hidden_values.h"

namespace mist::releases {

struct Gathered {
  std::vector<package::ValuesInput> inputs;
  render::HiddenValues hidden;  ///< what came from Secrets
  MessageMask mask;             ///< the same, and what becomes of it
  std::string versions;         ///< of what was read; another text when one of them changed
};

/// Those of valuesFrom first, then those of the spec, then those with a target path. Errors: NotFound and
/// Invalid, naming object and key, and those of the client.
Result<Gathered> gather_values(kube::Client& client, const std::string& ns, const Spec& spec,
                               const Context& context);

}  // namespace mist::releases
