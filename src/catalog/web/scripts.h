#pragma once
// The text of the scripts that browsers run, which bundle.mjs makes of the TypeScript beside it; script.h,
// passkey_pages.h and preview_script.h say their purpose. Pure; any thread.

#include <string_view>

namespace mist::catalog {

std::string_view live_source();
std::string_view passkey_source();
std::string_view preview_source();
std::string_view preview_worker_source();

}  // namespace mist::catalog
