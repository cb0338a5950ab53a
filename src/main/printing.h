#pragma once
// Writing to standard output and error, of programs without src/cli. Any thread.

#include <string_view>

#include "base/result.h"

namespace mist {

/// Writes all of it, or as much as the descriptor takes before it fails: for messages.
void print_to(int fd, std::string_view text);

/// Writes all of it to standard output. A reader that has seen enough and went away, such as `head`, is no
/// error. Errors: Retryable (no room), Internal; a part may be written.
Status print_result(std::string_view text);

/// The same for a text that exists nowhere else: a reader that went away is an error, too (Internal).
Status deliver_result(std::string_view text);

}  // namespace mist
