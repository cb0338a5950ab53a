#pragma once
// A secret that somebody types, or that another program sends to standard input. One thread.

#include <string>
#include <string_view>

#include "base/context.h"
#include "base/result.h"

namespace mist {

/// The first line of standard input. At a terminal `prompt` asks for it, and it isn't shown. Errors: Invalid
/// (nothing came, or too much), of `context` if that ends while somebody may still type.
Result<std::string> read_secret_line(std::string_view prompt, const Context& context);

}  // namespace mist
