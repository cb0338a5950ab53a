#pragma once
// How a package's code is talked to. `open` recognises which package ABI a module speaks (DESIGN, "The
// package ABI") and gives a Guest that hides the difference. Each ABI has a folder of its own and one row in
// abi.cc. A Guest may be used from any thread; each call runs the module in a fresh instance.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/result.h"
#include "encoding/json.h"
#include "encoding/value.h"
#include "wasm/guest_system.h"
#include "wasm/limits.h"
#include "wasm/module_bytes.h"
#include "wasm/runtime.h"
#include "wasm/snapshot.h"

namespace mist::abi {

inline constexpr std::string_view kVersion1Alpha1 = "mistletoe.dev/v1alpha1";
inline constexpr std::string_view kVersion1 = "mistletoe.dev/v1";

/// The name of the file that holds what a package simply printed.
inline constexpr std::string_view kPlainOutputFile = "stdout.yaml";

/// One file of Kubernetes YAML (any number of documents), not parsed yet.
struct OutputFile {
  std::string path;         ///< relative, without "." and ".." parts and control characters
  std::string text;         ///< valid UTF-8
  std::string source = {};  ///< of an engine: the package's file that made it; empty: unknown
  /// For each line of `text` its line in `source`; empty: they are the same. Any numbers: a guest gives them.
  std::vector<std::uint32_t> lines = {};
  /// Other files of the package that lines are from: for each line of `text` its line there, 0: it isn't from
  /// there.
  std::map<std::string, std::vector<std::uint32_t>> others = {};
};

struct Output {
  std::vector<OutputFile> files;     ///< in the order of the result document
  std::string message;               ///< what the package has to say to its user; may hold anything
  encoding::Value exports;           ///< for packages that call this one; null if there are none
  std::optional<std::string> print;  ///< of an engine: exactly what its peer's command would print
  encoding::Value missing;           ///< of an engine: what its host shall fetch; a list, else null
  encoding::Value package;           ///< of an engine that was asked what it sees: an object, else null
  encoding::Value unknown;           ///< of an engine: values that nobody reads; a list, else null
  std::string log;                   ///< what the guest wrote to stderr; may hold anything
  std::uint64_t drawn = 0;  ///< random bytes drawn after its entry: other than 0, another seed may give
                            ///< another output
};

/// Whom a guest may ask while it renders (ABI v1, "Host requests"). Called on the thread that renders.
class HostServices {
 public:
  virtual ~HostServices() = default;
  /// The answer to `operation`; `request` is the whole request, an object. An error is an answer too, by
  /// which the guest may live on; Cancelled, Timeout, Trap and Internal end it.
  virtual Result<encoding::Value> answer(std::string_view operation, const encoding::Value& request) = 0;
  /// Told before each answer: how much memory the guest has, which waits until then.
  virtual void guest_waits_with(std::uint64_t memory_bytes) { static_cast<void>(memory_bytes); }
};

struct RunOptions {
  wasm::GuestSystem system;
  wasm::Limits limits;
  Context context;
  HostServices* host = nullptr;  ///< null: a guest that asks is ended
  std::string subject = {};      ///< what is rendered, for messages; empty: the module's name
  /// Of a reactor: where it begins, prepared. Null: where the module does.
  std::shared_ptr<const wasm::StartImage> start = nullptr;
};

class Guest {
 public:
  virtual ~Guest() = default;

  /// "v1alpha1", "v1 command", "v1 reactor", "v1 component".
  virtual std::string_view abi() const = 0;
  /// The apiVersion of the input document that it understands.
  virtual std::string_view input_version() const = 0;

  /// The MistPackage document: from the custom section "mistletoe.package", which runs nothing; else, where
  /// the ABI has a function for it, from there; else nothing. Invalid for a document that is none; Trap.
  virtual Result<std::optional<encoding::Value>> info(const RunOptions& options) const = 0;

  /// Renders a MistInput document, as input_text writes it. Errors: Invalid where the package itself said
  /// that it failed (its words are in `because`) or gave what can't be understood; Trap; Timeout; Cancelled.
  virtual Result<Output> generate(std::string_view input, const RunOptions& options) const = 0;
};

/// The input document (any Value) as one line of JSON that every YAML 1.1 and 1.2 reader takes: characters
/// that YAML doesn't allow in the open are escaped. Exact is for engines, which tell 1.0 from 1.
std::string input_text(const encoding::Value& input,
                       encoding::JsonStyle style = encoding::JsonStyle::Compact);

/// Invalid if the module speaks no package ABI, or one of its functions has another type.
Result<std::unique_ptr<Guest>> open(wasm::Module module);
/// A module or a component.
Result<std::unique_ptr<Guest>> open(wasm::Runtime& runtime, const wasm::ModuleBytes& bytes,
                                    std::string_view name);

/// The MistPackage document of a module that has one in its custom section; needs no Runtime and runs
/// nothing.
Result<std::optional<encoding::Value>> read_metadata(const wasm::ModuleBytes& module, std::string_view name);

}  // namespace mist::abi
