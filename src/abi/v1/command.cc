#include "abi/v1/command.h"

#include <algorithm>

#include "abi/documents.h"
#include "abi/v1/output.h"
#include "abi/v1/requests.h"
#include "base/text.h"
#include "wasm/instance.h"

namespace mist::abi::v1 {
namespace {

using encoding::Value;

constexpr std::string_view kStart = "_start";
constexpr std::string_view kInitialize = "_initialize";
constexpr std::string_view kGenerate = "mistletoe_generate";
constexpr std::size_t kMaxMessage = 16384;  // bytes of stderr that become the message of a failure

// The end of a long stderr, from a line's beginning: that is where programs say why.
std::string tail(std::string_view err) {
  err = trim(err);
  if (err.size() <= kMaxMessage) return std::string(err);
  err.remove_prefix(err.size() - kMaxMessage);
  const std::size_t newline = err.find('\n');
  if (newline != std::string_view::npos) err.remove_prefix(newline + 1);
  return "… " + std::string(err);
}

class Program final : public Guest {
 public:
  Program(wasm::Module module, std::string_view abi, std::string_view entry)
      : module_(std::move(module)), abi_(abi), entry_(entry) {}

  std::string_view abi() const override { return abi_; }
  std::string_view input_version() const override { return kVersion1; }

  Result<std::optional<Value>> info(const RunOptions&) const override { return section_metadata(module_); }

  Result<Output> generate(std::string_view input, const RunOptions& options) const override {
    std::optional<Requests> requests;
    if (options.host != nullptr) requests.emplace(*options.host);
    MIST_TRY(auto instance, wasm::Instance::create(module_,
                                                   {.system = options.system,
                                                    .input = std::string(input),
                                                    .limits = options.limits,
                                                    .requests = requests ? &*requests : nullptr,
                                                    .start = options.start},
                                                   options.context));
    std::optional<std::uint32_t> exit_code;
    if (entry_ != kStart && !options.start && module_.function(kInitialize) != nullptr) {
      MIST_TRY(const wasm::CallResult initialised, instance.call(kInitialize));
      exit_code = initialised.exit_code;
    }
    if (!exit_code) {
      instance.mark_entry();
      MIST_TRY(const wasm::CallResult result, instance.call(entry_));
      exit_code = result.exit_code;
    }
    wasm::RunReport report = instance.take_report();
    if (exit_code.value_or(0) != 0) {
      std::string message = tail(report.err);
      return error(ErrorKind::Invalid, "{} could not be rendered: it ended with exit code {}",
                   subject(options), *exit_code)
          .with_because(message.empty() ? "it printed no reason to stderr" : std::move(message));
    }
    MIST_TRY(Output output, read_output(std::move(report.out), subject(options)));
    output.log = std::move(report.err);
    output.drawn = report.drawn_after_entry;
    return output;
  }

 private:
  const std::string& subject(const RunOptions& options) const {
    return options.subject.empty() ? module_.name() : options.subject;
  }

  wasm::Module module_;
  std::string_view abi_;
  std::string_view entry_;
};

Result<std::unique_ptr<Guest>> open(wasm::Module module, std::string_view abi, std::string_view entry) {
  for (const std::string_view function : {entry, kInitialize}) {
    const wasm::FunctionType* const type = module.function(function);
    if (type != nullptr && *type != wasm::FunctionType{})
      return error(ErrorKind::Invalid, "{} breaks the package ABI {}", module.name(), abi)
          .with_because(fmt::format("its function {} has the type {}, but must have {}", function,
                                    to_string(*type), to_string(wasm::FunctionType{})));
  }
  return std::unique_ptr<Guest>(std::make_unique<Program>(std::move(module), abi, entry));
}

}  // namespace

bool recognises_command(const wasm::Module& module) { return module.function(kStart) != nullptr; }
Result<std::unique_ptr<Guest>> open_command(wasm::Module module) {
  return open(std::move(module), "v1 command", kStart);
}

bool recognises_reactor(const wasm::Module& module) { return module.function(kGenerate) != nullptr; }
Result<std::unique_ptr<Guest>> open_reactor(wasm::Module module) {
  return open(std::move(module), "v1 reactor", kGenerate);
}

}  // namespace mist::abi::v1
