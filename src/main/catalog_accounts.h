#pragma once
// The commands of mistletoe-catalog about accounts and their tokens: user, token.

#include "base/result.h"
#include "main/catalog_data.h"
#include "main/catalog_line.h"
#include "main/catalog_machine.h"

namespace mist {

/// Runs the one that `line` names. Errors: Usage, of the stores.
Status run_account_command(const CommandLine& line, Machine& machine, const CatalogData& data);

}  // namespace mist
