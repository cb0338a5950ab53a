#pragma once
// The parts of a custom resource that functions between versions see and may change. Pure; any thread.

#include <array>
#include <string_view>

#include "base/result.h"
#include "encoding/value.h"

namespace mist::blueprint {

using encoding::Value;

/// Of labels and annotations that are Mistletoe's own, such as the record: they are alike in all versions.
inline constexpr std::string_view kReservedPrefix = "mistletoe.dev/";
/// The parts that may change.
inline constexpr std::array<std::string_view, 2> kConvertedMaps{"labels", "annotations"},
    kConvertedRecords{"spec", "status"};

/// The part of an object that a blueprint's functions are given (Evaluator::convert): name, namespace,
/// labels, annotations, spec and status; without the annotations and labels of Mistletoe, and without the
/// conditions of the status, which are the operator's in all versions alike. Errors: Invalid: one of them
/// isn't an object.
Result<Value> convertible_parts(const Value& object);

}  // namespace mist::blueprint
