#pragma once
// The report of `registry copy` and `mirror` on an artifact that was copied, as JSON. Pure; any thread.

#include "encoding/value.h"
#include "registry/oci_copy.h"

namespace mist::cli {

/// schemas/cli/registry-copy.schema.json; an item of schemas/cli/mirror.schema.json.
encoding::Value copy_report_value(const registry::CopyReport& report);

}  // namespace mist::cli
