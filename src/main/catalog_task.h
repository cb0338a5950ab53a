#pragma once
// `mistletoe-catalog worker --task DIRECTORY`: the test of one version in the Pod of a Job
// (catalog/trial_jobs.h). The directory is the Job's Secret. It has no database: it asks the catalog, and
// tells it what it finds.

#include "base/fs.h"
#include "base/result.h"
#include "catalog/backup.h"
#include "main/catalog_machine.h"

namespace mist {

/// A test that failed is no error: the catalog knows. Errors: of the Secret's files; of catalog::TaskClient,
/// where the catalog isn't told how the test ended.
Status run_task(Machine& machine, const catalog::DataPlaces& places, const Path& directory);

}  // namespace mist
