#pragma once
// The one script of the pages, which work without it: forms with data-live show their result while somebody
// types. Its source: web/page/live.ts. Pure; any thread.

#include <string>

namespace mist::catalog {

const std::string& script();
/// Names its content, so that it may be kept for ever.
const std::string& script_path();

}  // namespace mist::catalog
