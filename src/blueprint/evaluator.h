#pragma once
// Evaluates blueprints in the sandbox: the Nickel files of a ConfigMap or directory, with mistletoe.ncl
// beside them as their only other import. The result is a function of files and input alone. One thread at a
// time.

#include <optional>
#include <string>
#include <vector>

#include "base/context.h"
#include "blueprint/blueprint.h"
#include "package/renderer.h"

namespace mist::blueprint {

/// Where a blueprint begins.
inline constexpr std::string_view kEntry = "blueprint.ncl";

/// The files that a ConfigMap holds: its data, by key.
package::Files files_of(const Value& config_map);

/// Whether an object has all that the contract of its version requires.
enum class Whole : std::uint8_t { Yes, No };

class Evaluator {
 public:
  /// `renderer` outlives this. `files`: by relative path. Invalid: there is no blueprint.ncl, or a file has a
  /// name that the library needs (main.ncl, mistletoe.ncl, mistletoe-contracts.ncl, mistletoe-unknown.ncl,
  /// mistletoe.yaml).
  static Result<Evaluator> of(std::string name, package::Files files, package::Renderer& renderer);

  /// Invalid with Nickel's own diagnostic, or as Blueprint::parse().
  Result<Blueprint> describe(const Context& context, Standing standing = Standing::New);
  /// Questions for answer(): what make(), check(), identities() and kinds() ask.
  static Value to_make(const std::string& node, const Value& environment);
  static Value to_check(const std::string& node, const Value& object);
  static Value to_check(std::size_t edge, const Value& object);
  /// Of the spec or the status of an instance. answer() finds the exact place where it breaks its
  /// contract.
  static Value to_check_spec(const Value& spec);
  static Value to_check_status(const Value& status);
  static Value to_identify(const std::string& node, const Value& environment,
                           const std::vector<std::string>& unknown);
  static Value to_ask_kinds(const std::string& node, const Value& environment,
                            const std::vector<std::string>& unknown);
  /// Of one object of the kind, from a version to another one, by the functions of both; `parts`: what
  /// convert() takes.
  static Value to_convert(const std::string& from, const std::string& to, const Value& parts,
                          Whole whole = Whole::Yes);
  /// Of each of `parts` what it is in the other version: an object with spec, status, labels and annotations
  /// that has name and namespace besides. The spec meets the contract of that version, with its defaults, and
  /// so does what the status has. Invalid with Nickel's own diagnostic: `failing` is the index of the first
  /// that can't be converted; Trap; Timeout, at the context's deadline. Any thread.
  Result<std::vector<Value>> convert(const std::string& from, const std::string& to,
                                     const std::vector<Value>& parts, std::size_t& failing,
                                     const Context& context) const;
  /// Of one that lacks what the contract of its version requires (partial_object.h): nothing is held against
  /// a contract, and no default filled in. Errors as of convert(). Any thread.
  Result<Value> convert_partial(const std::string& from, const std::string& to, const Value& parts,
                                const Context& context) const;
  /// Of `parts`, as convert() takes them, what the contract of that version makes of them: the spec with its
  /// defaults. Invalid with Nickel's own diagnostic, and its words alone as the message; Trap. Any thread.
  Result<Value> hold(const std::string& version, const Value& parts, const Context& context) const;
  /// Invalid with Nickel's own diagnostic; Trap; Timeout, at the context's deadline. Any thread.
  Result<Value> answer(const Value& question, const Context& context) const;
  /// Of each question what is said to it alone, at little more cost than that of one. nullopt: something of
  /// them failed, and each has to be asked alone. Any thread.
  std::optional<std::vector<Value>> answer_together(const std::vector<Value>& questions,
                                                    const Context& context) const;
  /// Its question needs values that aren't known.
  static bool needs_unknown(const Error& failure);

  /// The result of a node's function for `environment`. Invalid with Nickel's own diagnostic; Trap.
  Result<Value> make(const std::string& node, const Value& environment, const Context& context);
  /// Invalid with Nickel's own diagnostic, and its words alone as the message: the object doesn't match the
  /// contract of that node, or of the edge with that index; Trap.
  Status check(const std::string& node, const Value& object, const Context& context);
  Status check(std::size_t edge, const Value& object, const Context& context);
  /// The same for the spec of an instance. The message begins with the innermost place that the contract
  /// refuses: "spec.storage.size: …".
  Status check_spec(const Value& spec, const Context& context) const;
  /// The same for what nodes write to the status of an instance. A value may be missing: it isn't known yet.
  Status check_status(const Value& status, const Context& context) const;
  /// The kinds of what a node's function makes: a list of records with apiVersion and kind. `unknown`: names
  /// of values that aren't there; nullopt: the kinds depend on them. Errors as make().
  Result<std::optional<Value>> kinds(const std::string& node, const Value& environment,
                                     const std::vector<std::string>& unknown, const Context& context);
  /// The same with what names them: apiVersion, kind, and the namespace and name of metadata.
  Result<std::optional<Value>> identities(const std::string& node, const Value& environment,
                                          const std::vector<std::string>& unknown, const Context& context);
  /// The roles that it binds: a list of records with kind and name, in the same way.
  Result<std::optional<Value>> role_refs(const std::string& node, const Value& environment,
                                         const std::vector<std::string>& unknown, const Context& context);
  /// The names of the fields of what it makes, in the same way.
  Result<std::optional<Value>> fields(const std::string& node, const Value& environment,
                                      const std::vector<std::string>& unknown, const Context& context);
  /// Whether a node's function fails whatever the values of these names are, as one that takes others does.
  /// Invalid with Nickel's own diagnostic; Trap.
  Status try_function(const std::string& node, const std::vector<std::string>& names, const Context& context);
  /// Whether the contract of a node, or of the edge with that index, can't be applied to anything. Errors as
  /// above.
  Status try_contract(const std::string& node, const Context& context);
  Status try_contract(std::size_t edge, const Context& context);
  /// Whether the contract of a node, or of the edge with that index, takes a record and no object of
  /// Kubernetes: a record contract without `..` that doesn't name what all of them have. Errors: of limits
  /// and the context.
  Result<bool> refuses_objects(const std::string& node, const Context& context) const;
  Result<bool> refuses_objects(std::size_t edge, const Context& context) const;
  /// The description that Blueprint::read() takes. Invalid with Nickel's own diagnostic; Trap.
  Result<Value> description(const Context& context);

 private:
  Evaluator(package::Source source, package::Renderer& renderer)
      : source_(std::move(source)), renderer_(&renderer) {}
  Result<Value> evaluate(Value input, const Context& context) const;
  Status held(Value question, const Context& context) const;
  Result<bool> refuses_all_objects(const Value& contract, const Context& context) const;
  class PartCheck;
  Result<Value> document(Value::Array inputs, const Context& context) const;
  Result<std::optional<Value>> part_of(std::string_view what, const std::string& node,
                                       const Value& environment, const std::vector<std::string>& unknown,
                                       const Context& context);

  package::Source source_;
  package::Renderer* renderer_;
};

}  // namespace mist::blueprint
