#pragma once
// A CustomResourceDefinition for tests.

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace mist::testing {

/// YAML of one for `kind` of example.com/v1, with namespaces and a schema that takes any object.
inline std::string crd_yaml(std::string_view kind, std::string_view plural) {
  return fmt::format(R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {1}.example.com}}
spec:
  group: example.com
  scope: Namespaced
  names: {{kind: {0}, plural: {1}}}
  versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}]
)",
                     kind, plural);
}

}  // namespace mist::testing
