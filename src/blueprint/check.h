#pragma once
// Finds everything wrong or unwise about a blueprint, without a cluster and without an instance. An error
// here is one in every instance: the operator would refuse the blueprint, or a node of it would fail in every
// instance that wants it. One thread.

#include <optional>
#include <string>
#include <vector>

#include "blueprint/evaluator.h"
#include "blueprint/round_trip.h"

namespace mist::blueprint {

struct Finding {
  bool error = true;        ///< false: a warning
  std::string_view rule{};  ///< "nickel", "graph", "values", …: docs/operator.md lists them
  std::optional<SourceLocation> where = {};
  std::string message = {};
  std::string because = {};  ///< Nickel's own diagnostic; several lines
  std::string hint = {};
};

struct Checked {
  std::vector<Finding> findings;       ///< errors first, then by place
  std::optional<Blueprint> blueprint;  ///< if nothing about its graph is wrong
  RoundTrips conversions = {};         ///< between versions of its kind
};

/// `examples`: custom resources of any kinds; conversions are tried with those of the blueprint's kind.
/// Errors: of the context, and of what has nothing to do with the blueprint.
Result<Checked> check(const std::string& name, const package::Files& files,
                      const std::vector<Example>& examples, package::Renderer& renderer,
                      const Context& context);

/// The names of what Sequence edges give to a node's function, and "instance".
std::vector<std::string> given_names(const Blueprint& blueprint, graph::Node node);

}  // namespace mist::blueprint
