#include "abi/v1alpha1/library.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "abi/documents.h"
#include "base/text.h"
#include "wasm/instance.h"

namespace mist::abi::v1alpha1 {
namespace {

using encoding::Value;
using wasm::FunctionType;
using wasm::Instance;

constexpr std::string_view kInitialize = "_initialize";
constexpr std::string_view kInfo = "__mistletoe_info";
constexpr std::string_view kAlloc = "__mistletoe_alloc";
constexpr std::string_view kDealloc = "__mistletoe_dealloc";
constexpr std::string_view kGenerate = "__mistletoe_generate";

constexpr const char* kTellItsAuthor = "this is a defect of the package: tell its author";
constexpr std::string_view kPanic = "__mistletoe_panic";
constexpr std::uint32_t kMaxPanicMessage = 4096;

struct Function {
  std::string_view entry;  // of spec.functions; empty: its name can't be chosen
  std::string_view name;   // unless spec.functions says another
  std::string_view parameters;
  std::string_view results;
};
constexpr auto kFunctions = std::to_array<Function>({
    {"", kInfo, "", "i"},
    {"alloc", kAlloc, "i", "i"},
    {"dealloc", kDealloc, "ii", ""},
    {"generate", kGenerate, "ii", "i"},
});

// Exports that make a module one of another ABI.
constexpr std::array<std::string_view, 2> kEntriesOfOthers{"_start", "mistletoe_generate"};

// The names of the functions to call.
struct Names {
  std::string alloc{kAlloc};
  std::string dealloc{kDealloc};
  std::string generate{kGenerate};

  std::string& operator[](std::string_view entry) {
    return entry == "alloc" ? alloc : entry == "dealloc" ? dealloc : generate;
  }
};

bool has_type(const FunctionType& type, const Function& function) {
  return type == FunctionType{std::string(function.parameters), std::string(function.results)};
}

Error broken(const wasm::Module& module) {
  return error(ErrorKind::Invalid, "{} breaks the package ABI v1alpha1", module.name());
}

Status check_type(const wasm::Module& module, const Function& function, std::string_view name) {
  const FunctionType& found = *module.function(name);
  if (has_type(found, function)) return {};
  return broken(module)
      .with_because(fmt::format(
          "its function {} has the type {}, but must have {}", escape_controls(name), to_string(found),
          to_string(FunctionType{std::string(function.parameters), std::string(function.results)})))
      .with_hint(kTellItsAuthor);
}

// The functions that a MistPackage document names; those that it doesn't name have their usual names.
Result<Names> names_in(const Value& document, const wasm::Module& module) {
  Names names;
  const Value* const given = document.at_path({"spec", "functions"});
  for (const Function& function : kFunctions) {
    if (function.entry.empty()) continue;  // __mistletoe_info says it
    std::string& name = names[function.entry];
    std::string source;
    const Value* const chosen =
        given != nullptr && given->is_object() ? given->find(function.entry) : nullptr;
    if (chosen != nullptr && !chosen->is_null()) {
      source = fmt::format(", which spec.functions.{} names", function.entry);
      if (!chosen->is_string())
        return broken(module)
            .with_because(fmt::format("spec.functions.{} is {}, not the name of a function", function.entry,
                                      kind_name(chosen->kind())))
            .with_hint(kTellItsAuthor);
      name = chosen->as_string();
    }
    if (module.function(name) == nullptr)
      return broken(module)
          .with_because(fmt::format("it does not export the function {}{}",
                                    escape_controls(name.substr(0, 200)), source))
          .with_hint(kTellItsAuthor);
    MIST_TRY_VOID(check_type(module, function, name));
  }
  return names;
}

bool exports_all(const wasm::Module& module) {
  return std::ranges::all_of(kFunctions,
                             [&](const Function& each) { return module.function(each.name) != nullptr; });
}

// Whether functions under other names may be what kInfo says they are: each has its type.
bool may_name_its_functions(const wasm::Module& module) {
  if (module.function(kInfo) == nullptr) return false;
  const auto exported = [&](std::string_view name) { return module.function(name) != nullptr; };
  if (std::ranges::any_of(kEntriesOfOthers, exported)) return false;
  return std::ranges::all_of(kFunctions, [&](const Function& function) {
    return std::ranges::any_of(module.exports(), [&](const wasm::Export& each) {
      return each.function && has_type(*module.function(each.name), function);
    });
  });
}

// One run of the library.
class Session {
 public:
  static Result<Session> begin(const wasm::Module& module, const RunOptions& options) {
    MIST_TRY(auto instance,
             Instance::create(module, {.system = options.system, .input = "", .limits = options.limits},
                              options.context));
    Session session(module, options, std::move(instance));
    if (module.function(kInitialize) != nullptr) MIST_TRY_VOID(session.call(kInitialize, {}));
    session.instance_.mark_entry();
    return session;
  }

  /// A function's one result, or 0 if it has none.
  Result<std::uint32_t> call(std::string_view function, std::initializer_list<std::uint32_t> arguments) {
    auto called = instance_.call(function, arguments);
    if (!called) return with_panic_message(std::move(called).error());
    const wasm::CallResult& result = *called;
    if (result.exit_code) {
      return error(ErrorKind::Trap, "{} exited with code {} in {} instead of returning", module_->name(),
                   *result.exit_code, function)
          .with_because(instance_.take_report().err);
    }
    return result.values.empty() ? 0U : result.values.front();
  }

  struct Text {
    std::string text;
    std::uint32_t address = 0;
  };
  /// The text behind what `function` returned: the address of two little-endian u32, address and length.
  Result<Text> read_text(std::string_view function, std::uint32_t returned) {
    const wasm::GuestMemory memory = instance_.memory();
    const auto address = memory.get<std::uint32_t>(returned);
    const auto length = memory.get<std::uint32_t>(std::uint64_t{returned} + 4);
    if (!address || !length)
      return wild(function,
                  fmt::format("the address {:#x}, outside its memory of {} bytes", returned, memory.size()));
    if (*length > options_->limits.output_bytes)
      return error(ErrorKind::Trap, "{} reached its output limit: it gave a document of {} bytes",
                   module_->name(), *length)
          .with_hint(wasm::raise_hint(options_->limits.flags, "--limit-output",
                                      fmt::format("{} MiB", options_->limits.output_bytes >> 20)));
    const auto text = memory.text(*address, *length);
    if (!text)
      return wild(function, fmt::format("a text of {} bytes at {:#x}, outside its memory of {} bytes",
                                        *length, *address, memory.size()));
    return Text{std::string(*text), *address};
  }

  Result<std::uint32_t> put_text(std::string_view alloc, std::string_view text) {
    const auto length = static_cast<std::uint32_t>(text.size());
    MIST_TRY(const std::uint32_t address, call(alloc, {length}));
    if (address == 0)
      return error(ErrorKind::Trap, "{} has no memory for its input of {} bytes", module_->name(), length)
          .with_because(fmt::format("{} gave 0", alloc));
    if (!instance_.memory().put_text(address, text))
      return wild(alloc, fmt::format("the address {:#x} for {} bytes, outside its memory of {} bytes",
                                     address, length, instance_.memory().size()));
    return address;
  }

  wasm::RunReport take_report() { return instance_.take_report(); }

 private:
  Session(const wasm::Module& module, const RunOptions& options, Instance instance)
      : module_(&module), options_(&options), instance_(std::move(instance)) {}

  // A module without WASI has no stderr; those made with the Rust SDK leave their panic message in memory, at
  // the address and length to which the exported global points.
  Error with_panic_message(Error failure) {
    const std::optional<std::uint32_t> pair = instance_.global(kPanic);
    if (!pair || failure.kind != ErrorKind::Trap) return failure;
    const wasm::GuestMemory memory = instance_.memory();
    const auto address = memory.get<std::uint32_t>(*pair);
    const auto length = memory.get<std::uint32_t>(std::uint64_t{*pair} + 4);
    if (!address || !length || *length == 0) return failure;
    const auto text = memory.text(*address, std::min(*length, kMaxPanicMessage));
    if (!text || !is_valid_utf8(*text)) return failure;
    failure.because =
        failure.because.empty() ? std::string(*text) : fmt::format("{}\n{}", *text, failure.because);
    return failure;
  }

  Error wild(std::string_view function, std::string what) const {
    return broken(*module_).with_because(fmt::format("{} gave {}", function, what)).with_hint(kTellItsAuthor);
  }

  const wasm::Module* module_;
  const RunOptions* options_;
  Instance instance_;
};

class Library final : public Guest {
 public:
  explicit Library(wasm::Module module) : module_(std::move(module)) {}

  std::string_view abi() const override { return "v1alpha1"; }
  std::string_view input_version() const override { return kVersion1Alpha1; }

  Result<std::optional<Value>> info(const RunOptions& options) const override {
    if (module_.package_section()) return section_metadata(module_);
    MIST_TRY(auto package, asked(options));
    return std::optional(std::move(package));
  }

  Result<Output> generate(std::string_view text, const RunOptions& options) const override {
    MIST_TRY(const Names names, functions(options));
    MIST_TRY(auto session, Session::begin(module_, options));
    MIST_TRY(const std::uint32_t address, session.put_text(names.alloc, text));
    const auto length = static_cast<std::uint32_t>(text.size());
    MIST_TRY(const std::uint32_t returned, session.call(names.generate, {address, length}));
    // Copied before anything is freed: a guest may answer out of its input.
    MIST_TRY(const Session::Text result, session.read_text(names.generate, returned));
    MIST_TRY_VOID(session.call(names.dealloc, {address, length}));
    MIST_TRY_VOID(
        session.call(names.dealloc, {result.address, static_cast<std::uint32_t>(result.text.size())}));
    wasm::RunReport report = session.take_report();
    MIST_TRY(Output output, parse_result(result.text, module_.name()));
    output.log = std::move(report.err);
    output.drawn = report.drawn_after_entry;
    return output;
  }

 private:
  // The answer of its function, in an instance of its own.
  Result<Value> asked(const RunOptions& options) const {
    MIST_TRY(auto session, Session::begin(module_, options));
    MIST_TRY(const std::uint32_t returned, session.call(kInfo, {}));
    // The text that info returns stays the guest's.
    MIST_TRY(const Session::Text document, session.read_text(kInfo, returned));
    MIST_TRY(Value package, parse_package(document.text, module_.name(), kInfo));
    const std::scoped_lock lock(mutex_);
    asked_ = package;
    return package;
  }

  // A section that says nothing of functions was written for the usual ones, unless they aren't there.
  Result<Names> functions(const RunOptions& options) const {
    if (module_.package_section()) {
      MIST_TRY(const auto section, section_metadata(module_));
      if (section->at_path({"spec", "functions"}) != nullptr || exports_all(module_))
        return names_in(*section, module_);
    }
    std::optional<Value> known;
    {
      const std::scoped_lock lock(mutex_);
      known = asked_;
    }
    if (!known) {
      auto document = asked(options);
      // A package whose document is unusable may still render, as long as nobody needs the document.
      const bool unusable = !document.ok() && (document.error().kind == ErrorKind::Invalid ||
                                               document.error().kind == ErrorKind::Trap);
      if (unusable && exports_all(module_)) return Names();
      MIST_TRY(known, std::move(document));
    }
    return names_in(*known, module_);
  }

  wasm::Module module_;
  mutable std::mutex mutex_;
  mutable std::optional<Value> asked_;  // guarded by mutex_: what the module says is always the same
};

}  // namespace

bool recognises(const wasm::Module& module) { return exports_all(module) || may_name_its_functions(module); }

std::string missing_functions(const wasm::Module& module) {
  std::vector<std::string> missing;
  for (const Function& each : kFunctions)
    if (module.function(each.name) == nullptr) missing.emplace_back(each.name);
  return missing.size() == kFunctions.size() ? "" : join(missing, ", ");
}

Result<std::unique_ptr<Guest>> open(wasm::Module module) {
  if (std::ranges::count(module.imports(), wasm::kHostModule, &wasm::Import::module) != 0)
    return broken(module)
        .with_because(fmt::format("it imports {}, but host requests came with v1", wasm::kHostModule))
        .with_hint("build it as a v1 command (target wasm32-wasip1)");
  // Under these names they are the ABI's, whether or not others are called in their place.
  for (const Function& each : kFunctions) {
    if (module.function(each.name) != nullptr) MIST_TRY_VOID(check_type(module, each, each.name));
  }
  return std::unique_ptr<Guest>(std::make_unique<Library>(std::move(module)));
}

}  // namespace mist::abi::v1alpha1
