#pragma once
// Faults of this installation, which say nothing about the packages that it reads. Any thread.

#include "base/fs.h"
#include "base/result.h"
#include "package/engine.h"
#include "package/type_store.h"

namespace mist::package {

/// The detail of an error about the installation: a file that comes with the program is missing, or another.
struct InstallationFault {};

/// Whether all schemas of Kubernetes and all engines that came with the program can be read. Errors: as
/// TypeStore::types and EngineStore::read, with an InstallationFault.
Status check_installation(const FileSystem& files, const TypeStore& types, const EngineStore& engines);

}  // namespace mist::package
