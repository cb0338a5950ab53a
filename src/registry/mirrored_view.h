#pragma once
// A configured registry in git, a chart repository or a catalog, with the mirrors of its address before it: a
// version that a mirror has a copy of (address_copies.h) is read there. Lists, updates and searches are the
// registry's own, of which a mirror has single packages. Where only mirrors may be asked, they are of the
// copy of the registry's index, if a mirror has one. Any thread.

#include <memory>
#include <string>

#include "registry/address_copies.h"
#include "registry/registry_view.h"

namespace mist::registry {

/// `name`: of the registry; `address`: of its repository. `copies` outlives the view.
std::unique_ptr<RegistryView> with_mirrors(std::unique_ptr<RegistryView> view, std::string name,
                                           std::string address, const AddressCopies& copies);

}  // namespace mist::registry
