#pragma once
// The server of mistletoe-catalog.

#include "base/result.h"
#include "main/catalog_data.h"
#include "main/catalog_line.h"
#include "main/catalog_machine.h"

namespace mist {

/// `mistletoe-catalog serve`, until the context ends.
Status serve(const CommandLine& line, Machine& machine, const DataPlace& place);

}  // namespace mist
