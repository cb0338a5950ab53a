#pragma once
// References in the fields of an object: ConfigMaps of its Pods, the role of a binding, the backends of an
// Ingress. Tables in references.cc; a new reference between kinds is a row there. Pure; any thread.

#include <functional>
#include <string>
#include <string_view>

#include "apimachinery/object.h"
#include "graph/sequence.h"

namespace mist::apply {

struct Reference {
  apimachinery::ObjectKey key;
  std::string_view reason;  ///< what the named object is to this one: "a volume of its pods"
  /// Hard: the server refuses the object, or destroys it, without the other. Soft: it only starts later.
  graph::Strength strength = graph::Strength::Soft;
};

/// Calls `visit` for each reference, in no particular order and perhaps more than once.
void for_each_reference(const apimachinery::Object& object,
                        const std::function<void(const Reference&)>& visit);

/// Calls `visit` for the string at each place that a path reaches: "spec.rules[].backend.service.name";
/// "[]" behind a step stands for every element.
void for_each_string(const encoding::Value& value, std::string_view path,
                     const std::function<void(std::string_view)>& visit);
/// The same for values of any kind.
void for_each_value(const encoding::Value& value, std::string_view path,
                    const std::function<void(const encoding::Value&)>& visit);

}  // namespace mist::apply
