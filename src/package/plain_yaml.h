#pragma once
// A directory of plain Kubernetes YAML as a package: no engine renders it, and it takes no values. Pure; any
// thread.

#include "base/result.h"
#include "package/engine.h"
#include "package/source.h"

namespace mist::package {

/// Its .yaml, .yml and .json files but hidden ones; `declared`: it has a mistletoe.yaml, which is none of
/// them, and maybe test cases. Invalid: there are none, or it is the source of a program that has to be built
/// first.
Result<Files> kubernetes_files(const Source& source, const Files& files, bool declared);

/// Invalid, naming one, if there are any but the release's name. `files`: all of the directory, which may
/// hold a program that would take them.
Status refuse_values(const Source& source, const Files& files, const Value& values);

}  // namespace mist::package
