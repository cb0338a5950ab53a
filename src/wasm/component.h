#pragma once
// Components: WebAssembly of the component model, whose functions take and give texts instead of addresses. A
// package is one that exports the world of schemas/wit/package.wit. It runs with the limits, the frozen
// system and the host requests of core modules (instance.h); WASI 0.2 is answered by preview 1's functions,
// as far as a package needs it: clocks, random, environment, exit. Any other import of WASI 0.2 ends the
// package when it is called. Only src/wasm/*.cc see Wasmtime.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/instance.h"
#include "wasm/runtime.h"

namespace mist::wasm {

/// The interface of host requests; a version follows it: "@1.0.0".
inline constexpr std::string_view kHostInterface = "mistletoe:package/host";
inline constexpr std::string_view kInfoFunction = "info";          ///< () → string
inline constexpr std::string_view kGenerateFunction = "generate";  ///< (string) → result<string, string>

/// Compiled code of one component. A cheap copy; any thread.
class Component {
 public:
  const std::string& name() const;
  const crypto::Digest& digest() const;                        ///< of the WebAssembly bytes
  const std::optional<std::string>& package_section() const;   ///< as of a Module
  const std::vector<std::string>& exported_functions() const;  ///< by name

  struct Impl;

 private:
  friend class Runtime;
  friend class ComponentInstance;
  explicit Component(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

/// The result of `generate`: its own ok or error, which is no error of the run.
struct Generated {
  bool ok = false;
  std::string text;
};

/// One run of a component. Errors of all its functions: as those of Instance; Invalid if the function has
/// another type. One thread at a time.
class ComponentInstance {
 public:
  static Result<ComponentInstance> create(const Component& component, InstanceOptions options,
                                          const Context& context = {});

  ComponentInstance(ComponentInstance&&) noexcept;
  ComponentInstance& operator=(ComponentInstance&&) noexcept;
  ~ComponentInstance();

  /// As Instance::mark_entry.
  void mark_entry();
  Result<std::string> info();
  Result<Generated> generate(std::string_view input);
  /// Takes the outputs along; call it once, at the end. Its memory isn't known.
  RunReport take_report();

  struct Impl;

 private:
  explicit ComponentInstance(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mist::wasm
