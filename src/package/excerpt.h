#pragma once
// The line of a package's file that an error is about, shown with the error. Pure; any thread.

#include "base/error.h"
#include "package/engine.h"
#include "package/objects.h"
#include "package/source.h"

namespace mist::package {

/// Adds the text of the line that an engine's error names, if it is one of `files`.
void add_excerpt(Error& failure, const Files& files);

/// The error, with the text of the template's line that it names, if the package has it as a file. Files that
/// passed through an engine as they were written aren't shown: they may be secret.
Error with_excerpt(Error failure, const Source& source, const FileOrigins& origins);

}  // namespace mist::package
