#pragma once
// The compiled code of a component; for the sources of this folder only.

#include "wasm/component.h"
#include "wasm/engine.h"

namespace mist::wasm {

using ComponentHandle = Handle<wasmtime_component_t, &wasmtime_component_delete>;

struct Component::Impl {
  std::shared_ptr<Engine> engine;
  ComponentHandle handle;
  std::string name;
  crypto::Digest digest;
  std::optional<std::string> package_section;
  std::vector<std::string> imports;  ///< by name, with versions
  std::vector<std::string> exports;  ///< functions by name
};

}  // namespace mist::wasm
