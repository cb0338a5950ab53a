#pragma once
// The last words of a program for which the machine has no thread or memory left. This project's own code
// knows errors as results; the standard library throws these two from anywhere, and nothing in the middle
// could go on.

namespace mist {

/// From now on, std::system_error and std::bad_alloc that nobody catches end the process with a line on
/// standard error and exit code 1, without a core. Any other exception is a defect: abort(3), as before.
/// The process's; called by main before any other thread.
void explain_exhaustion();

}  // namespace mist
