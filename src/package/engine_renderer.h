#pragma once
// Renders directories by their engines: charts, kustomizations, templates, programs of Nickel or Python. Also
// asks an engine for what only it knows: the metadata of a packed chart, say. Any thread.

#include <string_view>

#include "base/context.h"
#include "base/event.h"
#include "base/result.h"
#include "package/chart_answers.h"
#include "package/guests.h"
#include "package/host.h"
#include "package/metadata.h"
#include "package/render_job.h"
#include "package/render_request.h"
#include "package/rendered.h"
#include "package/renderer_options.h"
#include "package/source_facts.h"

namespace mist::package {

/// A request to an engine by us and not by a user: there are no values and no cluster.
RenderRequest own_request(std::string_view release_name);

/// Every tree that it is given has an engine. Errors of all methods: Invalid, Trap, NotFound (the engine
/// isn't here), Cancelled.
class EngineRenderer {
 public:
  /// All outlive this.
  EngineRenderer(const RendererOptions& options, EventSink& events, Guests& guests, JobRunner& jobs)
      : options_(options), events_(events), guests_(guests), jobs_(jobs) {}

  /// Its files, not its objects.
  Result<Rendered> render(const SourceTree& tree, const RenderRequest& request, const Context& context);
  /// The same with its metadata given.
  Result<Rendered> render(const SourceTree& tree, Metadata metadata, const RenderRequest& request,
                          const Context& context);
  /// The same; `charts` renders the charts of a kustomization. Null: it can't have any.
  Result<Rendered> render(const SourceTree& tree, Metadata metadata, const RenderRequest& request,
                          const Context& context, Host::Charts charts);

  /// Renders the charts among the files of `source`, a kustomization. The arguments outlive the answer.
  ChartAnswers answers_for(const Source& source, const RenderRequest& request, const Context& context);

  /// The metadata of the directory, including what only its engine can see if `inspect`.
  Result<Metadata> metadata_of(const SourceTree& tree, bool inspect, const Context& context);
  Result<Inspection> inspect(const SourceTree& tree, const Context& context);

 private:
  Result<Rendered> render_chart(const Source& chart, const RenderRequest& request, const Context& context);
  Result<Metadata> seen_metadata(const SourceTree& tree, const Context& context);
  void warn_of_shared_seed(const ChartAnswers& charts, const Source& source, const RenderRequest& request);

  const RendererOptions& options_;
  EventSink& events_;
  Guests& guests_;
  JobRunner& jobs_;
};

}  // namespace mist::package
