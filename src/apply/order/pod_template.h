#pragma once
// Where each workload kind keeps its pod template. Pure; any thread.

#include "apimachinery/object.h"

namespace mist::apply {

/// The value from which `metadata.labels` and `spec` of the object's Pods are read; null: it makes no Pods. A
/// Pod is its own template.
const encoding::Value* pod_template(const apimachinery::Object& object);

}  // namespace mist::apply
