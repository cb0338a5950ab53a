#pragma once
// Questions to the user. One thread; what progress draws is away meanwhile.

#include <string_view>

#include "cli/invocation.h"
#include "cli/world.h"

namespace mist::cli {

/// True at once when kConfirmFlags' --yes was given; else asks `question` ("Delete 3 objects of shop?") on
/// the terminal until the answer is y or n; Enter and the end of input mean no. Errors: Usage when stdin or
/// stderr is no terminal (scripts must say --yes), Cancelled.
Result<bool> confirm(World& world, const Invocation& invocation, std::string_view question);

}  // namespace mist::cli
