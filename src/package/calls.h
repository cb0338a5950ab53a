#pragma once
// package.call: a package renders another one and uses what it gave. Which packages it may call is declared
// in spec.dependencies and resolved before the render starts; the host gives each called package a sandbox, a
// name and secrets of its own, and bounds the tree of calls as a whole.
//
// A called package is known by its id (what names it in every version: "mistletoe/databases/mariadb") and its
// install name (data.name). Its secrets derive from these two and not from its caller: a further caller, or
// another order of calls, changes none of them, and two callers that ask for the same install get the same
// secrets. docs/formats/abi.md, "Calling packages".
//
// One render and its calls: one thread at a time.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "package/host.h"
#include "package/renderer.h"

namespace mist::package {

/// What the calls of one render share.
class CallTree {
 public:
  static constexpr std::size_t kMostCalls = 1000;  ///< of different packages or inputs
  static constexpr std::size_t kMostDepth = 16;

  /// `guest_time` and `output_bytes` bound all calls together; `stack_bytes`: what a guest may use of a
  /// stack.
  CallTree(Duration guest_time, std::uint64_t output_bytes, std::size_t stack_bytes)
      : guest_time_(guest_time), most_output_(output_bytes), stack_bytes_(stack_bytes) {}

  /// What is left for calls, at least nothing.
  Duration time_left() const;
  /// Of all packages of the tree.
  const std::shared_ptr<SharedSecrets>& secrets() const { return secrets_; }

 private:
  friend class PackageCalls;

  std::map<std::string, CallAnswer> answers_;  // by package and input: equal calls are rendered once
  Duration guest_time_;
  Duration spent_{};
  std::uint64_t most_output_;
  std::uint64_t output_ = 0;
  std::size_t stack_bytes_;
  std::size_t calls_ = 0;  // that were begun
  std::shared_ptr<SharedSecrets> secrets_ = std::make_shared<SharedSecrets>();
};

class PackageCalls {
 public:
  using Render = std::function<Result<Rendered>(const Source& source, const RenderRequest& request)>;

  /// `caller` is what the package says of itself, `dependencies` what it may call, `request` what it is
  /// rendered by; all outlive this.
  PackageCalls(const Metadata& caller, const Dependencies& dependencies, const RenderRequest& request,
               std::shared_ptr<CallTree> tree, Render render)
      : caller_(caller),
        dependencies_(dependencies),
        request_(request),
        tree_(std::move(tree)),
        render_(std::move(render)) {}

  /// To {"package": a name of spec.dependencies, "input": the `data` of the called package}: {"files": {path:
  /// text}, "exports", "message"}. Errors name the path of calls. Invalid: a wrong form, an undeclared
  /// package, what the called package refuses, exports that don't fit its schema. Trap: a limit of the whole
  /// tree, and what ends the called guest.
  Result<CallAnswer> answer(const Value& request);

 private:
  struct Call;
  Result<Call> read(const Value& request) const;
  Result<std::shared_ptr<const ResolvedPackage>> callee(const std::string& name) const;
  Result<CallAnswer> call(const Call& call);
  Status count_output(const Call& call, const Rendered& rendered);
  RenderRequest request_for(const Call& call) const;

  const Metadata& caller_;
  const Dependencies& dependencies_;
  const RenderRequest& request_;
  std::shared_ptr<CallTree> tree_;
  Render render_;
};

/// For a called package, else for the release itself.
std::string_view install_name(const RenderRequest& request);

/// Whom secrets are for. The rotations of a called package are those of its own secrets.
SecretScope secret_scope(const Metadata& metadata, const RenderRequest& request);

/// Invalid: a declared dependency isn't among the resolved ones.
Status refuse_unresolved(const Metadata& metadata, const Source& source);

}  // namespace mist::package
