#pragma once
// A Diagnosis as a tree for people:
//
//   Release shop/web: 1 object is not ready
//   └─ Deployment shop/api: 0 of 1 replicas are available
//      └─ Pod shop/api-5d9c-x2x: Running, not ready
//         └─ container main: CrashLoopBackOff, 7 restarts: ended with exit code 1
//            event BackOff (7 times): Back-off restarting failed container
//            log │ starting
//            log │ panic: no database
//
// and for programs the same fields as JSON (schemas/error.schema.json). Text of clusters is escaped. Pure;
// any thread.

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnosis.h"
#include "encoding/value.h"

namespace mist::view {

/// `hint` is drawn below the tree: a remedy that it has is left out of the tree.
std::vector<std::string> diagnosis_lines(const Diagnosis& diagnosis, bool color, std::string_view hint = {});
encoding::Value diagnosis_to_value(const Diagnosis& diagnosis);

}  // namespace mist::view
