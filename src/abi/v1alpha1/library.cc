#include "abi/v1alpha1/library.h"

#include <algorithm>
#include <array>

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
  std::string_view name;
  std::string_view parameters;
  std::string_view results;
};
constexpr auto kFunctions = std::to_array<Function>({
    {kInfo, "", "i"},
    {kAlloc, "i", "i"},
    {kDealloc, "ii", ""},
    {kGenerate, "ii", "i"},
});

// One run of the library.
class Session {
 public:
  static Result<Session> begin(const wasm::Module& module, const RunOptions& options) {
    MIST_TRY(auto instance,
             Instance::create(module, {.world = options.world, .input = "", .limits = options.limits},
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
          .with_hint(fmt::format("if that is what it needs, raise --limit-output, now {} MiB",
                                 options_->limits.output_bytes >> 20));
    const auto text = memory.text(*address, *length);
    if (!text)
      return wild(function, fmt::format("a text of {} bytes at {:#x}, outside its memory of {} bytes",
                                        *length, *address, memory.size()));
    return Text{std::string(*text), *address};
  }

  Result<std::uint32_t> put_text(std::string_view text) {
    const auto length = static_cast<std::uint32_t>(text.size());
    MIST_TRY(const std::uint32_t address, call(kAlloc, {length}));
    if (address == 0)
      return error(ErrorKind::Trap, "{} has no memory for its input of {} bytes", module_->name(), length)
          .with_because(fmt::format("{} gave 0", kAlloc));
    if (!instance_.memory().put_text(address, text))
      return wild(kAlloc, fmt::format("the address {:#x} for {} bytes, outside its memory of {} bytes",
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
    return error(ErrorKind::Invalid, "{} breaks the package ABI v1alpha1", module_->name())
        .with_because(fmt::format("{} gave {}", function, what))
        .with_hint(kTellItsAuthor);
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
    MIST_TRY(auto session, Session::begin(module_, options));
    MIST_TRY(const std::uint32_t returned, session.call(kInfo, {}));
    // What info returns stays the guest's.
    MIST_TRY(const Session::Text document, session.read_text(kInfo, returned));
    MIST_TRY(auto package, parse_package(document.text, module_.name(), kInfo));
    return std::optional(std::move(package));
  }

  Result<Output> generate(std::string_view text, const RunOptions& options) const override {
    MIST_TRY(auto session, Session::begin(module_, options));
    MIST_TRY(const std::uint32_t address, session.put_text(text));
    const auto length = static_cast<std::uint32_t>(text.size());
    MIST_TRY(const std::uint32_t returned, session.call(kGenerate, {address, length}));
    // Copied before anything is freed: a guest may answer out of its input.
    MIST_TRY(const Session::Text result, session.read_text(kGenerate, returned));
    MIST_TRY_VOID(session.call(kDealloc, {address, length}));
    MIST_TRY_VOID(session.call(kDealloc, {result.address, static_cast<std::uint32_t>(result.text.size())}));
    wasm::RunReport report = session.take_report();
    MIST_TRY(Output output, parse_result(result.text, module_.name()));
    output.log = std::move(report.err);
    output.drawn = report.drawn_after_entry;
    return output;
  }

 private:
  wasm::Module module_;
};

}  // namespace

bool recognises(const wasm::Module& module) {
  return std::ranges::all_of(kFunctions,
                             [&](const Function& each) { return module.function(each.name) != nullptr; });
}

std::string missing_functions(const wasm::Module& module) {
  std::vector<std::string> missing;
  for (const Function& each : kFunctions)
    if (module.function(each.name) == nullptr) missing.emplace_back(each.name);
  return missing.size() == kFunctions.size() ? "" : join(missing, ", ");
}

Result<std::unique_ptr<Guest>> open(wasm::Module module) {
  if (std::ranges::count(module.imports(), wasm::kHostModule, &wasm::Import::module) != 0)
    return error(ErrorKind::Invalid, "{} breaks the package ABI v1alpha1", module.name())
        .with_because(fmt::format("it imports {}, but host requests came with v1", wasm::kHostModule))
        .with_hint("build it as a v1 command (target wasm32-wasip1)");
  for (const Function& each : kFunctions) {
    const FunctionType expected{std::string(each.parameters), std::string(each.results)};
    const FunctionType& found = *module.function(each.name);
    if (found != expected)
      return error(ErrorKind::Invalid, "{} breaks the package ABI v1alpha1", module.name())
          .with_because(fmt::format("its function {} has the type {}, but must have {}", each.name,
                                    to_string(found), to_string(expected)))
          .with_hint(kTellItsAuthor);
  }
  return std::unique_ptr<Guest>(std::make_unique<Library>(std::move(module)));
}

}  // namespace mist::abi::v1alpha1
