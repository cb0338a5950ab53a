#pragma once
// The checkout that this test program was built from. A function, not a macro: the path then stands in one
// object file, and every other one is the same in each checkout, so that ccache serves them all.

#include "base/fs.h"

namespace mist::testing {

Path source_dir();

}  // namespace mist::testing
