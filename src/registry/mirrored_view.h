#pragma once
// A configured registry in git, or a chart repository, with the mirrors of its address before it: a version
// that a mirror has a copy of (address_copies.h) is read there. A mirror has single packages and no list of
// all, so lists, updates and searches are the registry's own. Any thread.

#include <memory>
#include <string>

#include "registry/address_copies.h"
#include "registry/registry_view.h"

namespace mist::registry {

/// `name`: of the registry; `address`: of its repository. `copies` outlives the view.
std::unique_ptr<RegistryView> with_mirrors(std::unique_ptr<RegistryView> view, std::string name,
                                           std::string address, const AddressCopies& copies);

}  // namespace mist::registry
