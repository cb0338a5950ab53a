#pragma once
// A case of a package's own tests (`mistctl package test`): `tests/NAME.yaml` says what goes in and what has
// to come out, and beside it `tests/NAME.golden.yaml` holds the objects in full. Seed and clock of every case
// are the same constants, so that secrets and dates are too. docs/authoring.md shows it to authors. Pure; any
// thread.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "package/render_request.h"
#include "package/rendered.h"

namespace mist::package {

/// Where cases lie in a package. No engine renders this folder.
inline constexpr std::string_view kTestsFolder = "tests";
/// Of a path in a package: it lies there.
inline bool is_test_file(std::string_view path) {
  return path.starts_with(kTestsFolder) && path.substr(kTestsFolder.size()).starts_with('/');
}
inline constexpr std::string_view kGoldenEnding = ".golden.yaml";

/// An object that has to be among the rendered ones; empty members may be anything.
struct ExpectedObject {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string ns;
};

struct TestCase {
  std::string name;  ///< "with-ingress" of tests/with-ingress.yaml
  Value values = Value::object();
  std::string release_name = "test";
  std::string release_namespace = "default";
  int revision = 1;
  bool is_upgrade = false;
  std::string kube_version;               ///< empty: what commands without a cluster assume
  std::vector<std::string> api_versions;  ///< beside the built-in ones
  std::optional<std::string> golden;      ///< the file beside the case; nothing: no comparison
  std::optional<std::string> error;       ///< rendering must fail with a message that contains this
  std::optional<std::size_t> objects;
  std::vector<ExpectedObject> contains;

  /// `file` is what messages call it. Invalid, with the line: an unknown member, a wrong type, a golden file
  /// elsewhere than beside the case, a case that expects nothing.
  static Result<TestCase> parse(std::string_view name, const std::string& text, std::string_view file);

  /// The render of this case, with the seed and clock of all cases. Without values and capabilities, which
  /// depend on the package and on what is assumed.
  RenderRequest request() const;
};

/// Of a directory's file names, those of cases: "a.yaml" → "a", sorted.
std::vector<std::string> case_names(const std::vector<std::string>& files);

/// The content of a golden file: all objects in their order, each below the name of the file that gave it,
/// and the message for the user if there is one. Formatting and comments of templates aren't part of it.
std::string golden_text(const Rendered& rendered);

/// One sentence for each of `objects` and `contains` that isn't so.
std::vector<std::string> broken_expectations(const TestCase& test, const Rendered& rendered);

/// Why `failure` isn't the error that the case expects; empty: it is.
std::string wrong_error(const TestCase& test, const Error& failure);

}  // namespace mist::package
