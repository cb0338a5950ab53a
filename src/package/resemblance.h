#pragma once
// The probable intent of a directory that no engine renders and that can't be read as plain Kubernetes YAML:
// a chart without Chart.yaml, a kustomization under another name, a directory whose subdirectories are the
// packages. Pure; any thread.

#include <vector>

#include "apimachinery/object.h"
#include "base/error.h"
#include "package/engine.h"
#include "package/source.h"

namespace mist::package {

/// `failure` (of reading the directory as plain YAML), with what is missing as its message and hint if the
/// files resemble a package; else as it is.
Error with_resemblance(Error failure, const Source& source, const Files& files);

/// The first object that only Kustomize reads, which no cluster knows; null: none.
const apimachinery::RenderedObject* kustomize_object(
    const std::vector<apimachinery::RenderedObject>& objects);

}  // namespace mist::package
