#pragma once
// Evaluates blueprints in the sandbox: the Nickel files of a ConfigMap or directory, with mistletoe.ncl
// beside them as their only other import. What it gives is a function of files and input alone. One thread at
// a time.

#include <string>

#include "base/context.h"
#include "blueprint/blueprint.h"
#include "package/renderer.h"

namespace mist::blueprint {

/// Where a blueprint begins.
inline constexpr std::string_view kEntry = "blueprint.ncl";

class Evaluator {
 public:
  /// `renderer` outlives this. `files`: by relative path. Invalid: there is no blueprint.ncl, or a file has a
  /// name that the library needs (main.ncl, mistletoe.ncl, mistletoe.yaml).
  static Result<Evaluator> of(std::string name, package::Files files, package::Renderer& renderer);

  /// Invalid with Nickel's own diagnostic, or as Blueprint::parse().
  Result<Blueprint> describe(const Context& context);
  /// What a node's function makes of `environment`. Invalid with Nickel's own diagnostic; Trap.
  Result<Value> make(const std::string& node, const Value& environment, const Context& context);
  /// Invalid with Nickel's own diagnostic: the object doesn't match the contract of that node, or of the edge
  /// with that index; Trap.
  Status check(const std::string& node, const Value& object, const Context& context);
  Status check(std::size_t edge, const Value& object, const Context& context);
  /// The kinds of what a node's function makes, as far as they don't depend on what `environment` lacks: a
  /// list of records with apiVersion and kind. Errors as make().
  Result<Value> kinds(const std::string& node, const Value& environment, const Context& context);

 private:
  Evaluator(package::Source source, package::Renderer& renderer)
      : source_(std::move(source)), renderer_(&renderer) {}
  Result<Value> evaluate(Value input, const Context& context);

  package::Source source_;
  package::Renderer* renderer_;
};

}  // namespace mist::blueprint
