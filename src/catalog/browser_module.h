#pragma once
// Whether a package's own module may be given to browsers, which bound less of it than mistctl does. Pure;
// any thread.

#include <string>
#include <string_view>

#include "base/result.h"

namespace mist::catalog {

/// Invalid, as the reason that a page gives: it exports nothing that a preview calls, or has more than the
/// WebAssembly that packages may use (garbage collection, exceptions, many tables), with which it could take
/// memory that its maximum doesn't count. Its imports are looked at where it runs.
Status check_for_browsers(std::string_view module, const std::string& name);

}  // namespace mist::catalog
