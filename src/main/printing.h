#pragma once
// Writing to standard output and error, of programs without src/cli. Any thread.

#include <string_view>

#include "base/result.h"

namespace mist {

/// Writes all of it, or as much as the descriptor takes before it fails: for messages.
void print_to(int fd, std::string_view text);

/// Writes all of it to standard output. Errors: Retryable (no room), Internal; a part may be written.
Status print_result(std::string_view text);

}  // namespace mist
