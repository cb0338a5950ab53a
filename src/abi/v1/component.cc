#include "abi/v1/component.h"

#include <algorithm>

#include "abi/documents.h"
#include "abi/v1/output.h"
#include "abi/v1/requests.h"
#include "base/text.h"

namespace mist::abi::v1 {
namespace {

using encoding::Value;

constexpr std::string_view kAbi = "v1 component";
constexpr std::string_view kInfoSource = "the result of info";

class ComponentProgram final : public Guest {
 public:
  explicit ComponentProgram(wasm::Component component) : component_(std::move(component)) {}

  std::string_view abi() const override { return kAbi; }
  std::string_view input_version() const override { return kVersion1; }

  Result<std::optional<Value>> info(const RunOptions& options) const override {
    if (component_.package_section()) {
      MIST_TRY(auto document, parse_package(*component_.package_section(), component_.name(),
                                            "the custom section mistletoe.package"));
      return std::optional(std::move(document));
    }
    MIST_TRY(auto instance, start(options, nullptr));
    MIST_TRY(const std::string text, instance.info());
    if (trim(text).empty()) return std::optional<Value>();
    MIST_TRY(auto document, parse_package(text, component_.name(), kInfoSource));
    return std::optional(std::move(document));
  }

  Result<Output> generate(std::string_view input, const RunOptions& options) const override {
    std::optional<Requests> requests;
    if (options.host != nullptr) requests.emplace(*options.host);
    MIST_TRY(auto instance, start(options, requests ? &*requests : nullptr));
    instance.mark_entry();
    MIST_TRY(wasm::Generated generated, instance.generate(input));
    wasm::RunReport report = instance.take_report();
    const std::string& subject = options.subject.empty() ? component_.name() : options.subject;
    if (!generated.ok) {
      MIST_TRY_VOID(check_text(generated.text, fmt::format("the error of {}", subject)));
      return failed_output(generated.text, subject);
    }
    MIST_TRY(Output output, read_output(std::move(generated.text), subject));
    output.drawn = report.drawn_after_entry;
    return output;
  }

 private:
  Result<wasm::ComponentInstance> start(const RunOptions& options, wasm::RequestHandler* requests) const {
    return wasm::ComponentInstance::create(
        component_, {.system = options.system, .input = {}, .limits = options.limits, .requests = requests},
        options.context);
  }

  wasm::Component component_;
};

}  // namespace

Result<std::unique_ptr<Guest>> open_component(wasm::Component component) {
  for (const std::string_view needed : {wasm::kInfoFunction, wasm::kGenerateFunction}) {
    if (std::ranges::find(component.exported_functions(), needed) == component.exported_functions().end())
      return error(ErrorKind::Invalid, "{} is a component, but no package", component.name())
          .with_because(fmt::format("it exports no function {}", needed))
          .with_hint(
              "a package exports the world of mistletoe:package (docs/formats/abi.md, \"Components\")");
  }
  return std::unique_ptr<Guest>(std::make_unique<ComponentProgram>(std::move(component)));
}

}  // namespace mist::abi::v1
