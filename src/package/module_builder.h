#pragma once
// Builds a directory that an engine renders into one module. Any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/result.h"
#include "package/chart_answers.h"
#include "package/engine.h"
#include "package/engine_renderer.h"
#include "package/guests.h"
#include "package/module_section.h"
#include "package/renderer_options.h"
#include "package/source_facts.h"

namespace mist::package {

class ModuleBuilder {
 public:
  /// All outlive this.
  ModuleBuilder(const RendererOptions& options, Guests& guests, EngineRenderer& engines)
      : options_(options), guests_(guests), engines_(engines) {}

  /// As Renderer::build.
  Result<std::string> build(const Source& source, BuiltEngine engine, const Context& context);

 private:
  Result<std::vector<ChartExchange>> charts_of(const SourceTree& tree, std::uint8_t number,
                                               const Context& context);
  Result<Files> with_charts_rendered(const SourceTree& tree, const Context& context);
  Result<std::string> with_engine(const Source& source, std::string_view name, const Files& complete,
                                  const Context& context);

  const RendererOptions& options_;
  Guests& guests_;
  EngineRenderer& engines_;
};

}  // namespace mist::package
