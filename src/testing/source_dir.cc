#include "testing/source_dir.h"

namespace mist::testing {

Path source_dir() { return MIST_SOURCE_DIR; }

}  // namespace mist::testing
