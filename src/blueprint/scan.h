#pragma once
// Reads off a blueprint's text, without evaluating it, which values functions take by name, and which fields
// refer to themselves. It knows brackets, strings, comments and patterns of Nickel, and nothing else of it:
// it leaves out what it doesn't understand, so that everything it finds is really there. Nickel itself, in
// the sandbox, says what is wrong with a text. Pure; any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mist::blueprint {

/// A function whose argument is a record pattern: `fun { instance, address = ip, ready ? 0, .. } => …`.
struct FunctionHead {
  struct Taken {
    std::string name;
    bool optional = false;  ///< it has a default
  };
  std::string field;  ///< where it stands: "nodes.service.own"
  std::uint32_t line = 0, column = 0;
  std::vector<Taken> takes;
  bool open = false;   ///< it ends in `..`: others may be given
  bool whole = false;  ///< it has a name for what is left, or for everything, so that it may use others too
};

/// `{ phase = phase }`, `{ rule = rule.cel }`: fields of a record see one another, so that evaluating this
/// never ends.
struct SelfReference {
  std::string name;
  std::uint32_t line = 0, column = 0;
};

struct Scan {
  std::vector<FunctionHead> functions;
  std::vector<SelfReference> self_references;
};

Scan scan(std::string_view text);

}  // namespace mist::blueprint
