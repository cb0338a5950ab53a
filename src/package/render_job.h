#pragma once
// One render in a sandbox. If its output is cached, no guest starts; else the guest runs, its requests are
// answered, and its output is checked and cached. Secrets are taken out of its errors and its log.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "abi/abi.h"
#include "base/context.h"
#include "base/event.h"
#include "base/result.h"
#include "package/calls.h"
#include "package/guests.h"
#include "package/host.h"
#include "package/metadata.h"
#include "package/render_cache.h"
#include "package/render_request.h"
#include "package/rendered.h"
#include "package/renderer_options.h"
#include "package/secrets.h"
#include "package/source.h"
#include "wasm/limits.h"

namespace mist::package {

/// One render: what it is made of, and how its guest starts, which nobody does for a render that is known.
struct RenderJob {
  const Source& source;
  const RenderRequest& request;
  const wasm::Limits& limits;
  const Context& context;
  Metadata metadata;
  std::string code;   ///< digest of the module or engine
  std::string files;  ///< digest of what is at /package; empty: nothing
  std::string input;  ///< the document
  std::function<Result<Started>()> start;
  /// Whether the input is as its schema wants it, where the schema is in the code, so that an input that is
  /// known for this code was found to be so; null: it is.
  std::function<Status(const Metadata&)> check = nullptr;
  std::string_view input_version = abi::kVersion1;  ///< of the document
  Host::Charts charts = nullptr;                    ///< who renders those that a kustomization names
  bool engine = false;                              ///< what runs is one of ours
  bool chart = false;                               ///< and it renders a chart
};

/// Any thread; each job on its own.
class JobRunner {
 public:
  /// Renders a package that another one calls, as its files.
  using RenderCalled = std::function<Result<Rendered>(const Source& source, const RenderRequest& request,
                                                      const Context& context)>;

  /// The first two outlive this.
  JobRunner(const RendererOptions& options, EventSink& events, RenderCalled render_called);

  /// Its files, not its objects; `engine` of the result isn't set. Errors as Renderer::render.
  Result<Rendered> run(RenderJob job);

 private:
  std::optional<abi::Output> known_output(const RenderParts& parts, Host& host, CallTree& tree) const;
  Result<abi::Output> new_output(const RenderJob& job, const Started& started, const RenderParts& parts,
                                 const SecretScope& scope, Host& host) const;
  std::shared_ptr<CallTree> new_call_tree(bool quiet) const;

  const RendererOptions& options_;
  EventSink& events_;
  RenderCalled render_called_;
  std::optional<RenderCache> renders_;
};

}  // namespace mist::package
