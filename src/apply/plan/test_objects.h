#pragma once
// Objects annotated mistletoe.dev/test: they are recorded with a release, but only `mistctl test` applies
// them, as members of an ApplySet of their own, so that nothing takes them for the release's. Pure; any
// thread.

#include <string_view>
#include <vector>

#include "apply/inventory.h"
#include "apply/owner.h"

namespace mist::apply {

/// "true"; "false" is as if it weren't there.
inline constexpr std::string_view kTestAnnotation = "mistletoe.dev/test";

/// Takes the tests out of rendered objects, each part in its order. Invalid, with file and line: another
/// value of the annotation, one of our labels on a test, waiting annotations that can't be read.
Result<std::vector<RenderedObject>> take_tests(std::vector<RenderedObject>& objects);

/// The owner of a release's applied tests: "shop/web.test". No release has a dot in its name.
Owner test_set(const Owner& release);

}  // namespace mist::apply
