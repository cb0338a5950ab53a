#pragma once
// The process of one part of a trial, in its sandbox (catalog/trial_process.h): reads what it has to do from
// standard input, and tells what it finds on standard output (catalog/trial_messages.h). Its log is standard
// error. When standard input ends, it removes what it made and ends.

#include "base/fs.h"

namespace mist {

/// Returns the exit code: 0, whatever became of the package. `program` is this one's file.
int run_trial_process(const Path& program);

}  // namespace mist
