#pragma once
// Answers `chart.render`: a chart that a kustomization names, rendered from the package's own files as
// `helm template` renders it, with the seed and the clock of the package's render. For each release of a
// chart one sandbox, after the limits of the asking one's kind. One render, one thread.

#include <chrono>
#include <functional>
#include <vector>

#include "package/render_request.h"
#include "package/rendered.h"
#include "package/source.h"

namespace mist::package {

class ChartAnswers {
 public:
  /// How a chart is rendered.
  using Render = std::function<Result<Rendered>(const Source& chart, const RenderRequest& request)>;

  /// `package`, whose content is files, and `request`, by which it is rendered, outlive this. `most` is how
  /// long all charts together may take before another is begun.
  ChartAnswers(const Source& package, const RenderRequest& request, Duration most, Render render)
      : package_(package), request_(request), most_(most), render_(std::move(render)) {}

  /// To {"directory" or "archive", "values", …} (src/abi/v1/README.md): {"print", "drawn"}, or {"failure"} of
  /// what is wrong with the chart, its place below the package. Errors: Invalid for another form; NotFound
  /// without such files; Trap and others of rendering.
  Result<Value> answer(const Value& request);

 private:
  Result<Source> chart_at(const Value& request) const;
  Result<RenderRequest> render_request(const Value& request) const;
  Result<Rendered> render(const Source& chart, const RenderRequest& request);

  const Source& package_;
  const RenderRequest& request_;
  Duration most_;
  Render render_;
  Duration taken_{};
};

/// A request, and its answer.
struct ChartExchange {
  Value request;
  Value answer;
};

/// Invalid, naming the chart, if two renders in different worlds (seed, clock, namespace) differ.
Status refuse_differences(const std::vector<ChartExchange>& one, const std::vector<ChartExchange>& other);

/// The files of a kustomization, and what its charts gave, where its engine looks for it
/// (engines/kustomize/README.md).
Result<Files> with_answers(Files files, const std::vector<ChartExchange>& exchanges);

}  // namespace mist::package
