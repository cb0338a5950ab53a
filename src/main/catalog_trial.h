#pragma once
// The process of one part of a trial, in its sandbox (catalog/trial_process.h): reads what it has to do from
// standard input, and tells what it finds on standard output (catalog/trial_messages.h). Its log is standard
// error. When standard input ends, it removes what it made and ends.

#include "base/fs.h"
#include "base/result.h"
#include "catalog/backup.h"
#include "catalog/blobs.h"
#include "catalog/trial.h"
#include "catalog/trial_messages.h"
#include "main/catalog_machine.h"

namespace mist {

/// The part that `request` names, in this process, with files in `places` and the packages of the job in
/// `packages`. As catalog::run_trial.
Result<bool> run_requested_trial(Machine& machine, const catalog::TrialRequest& request,
                                 const catalog::DataPlaces& places, catalog::Blobs& packages,
                                 const catalog::TrialReport& report);

/// Returns the exit code: 0, whatever became of the package. `program` is this one's file.
int run_trial_process(const Path& program);

}  // namespace mist
