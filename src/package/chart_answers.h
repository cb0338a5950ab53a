#pragma once
// Answers `chart.render`: a chart that a kustomization names, rendered from the package's own files as
// `helm template` renders it, with the clock of the package's render and a seed derived from its. For each
// release of a chart one sandbox, after the limits of the asking one's kind. Those of a called package are
// bounded as calls are, with the tree of calls that it belongs to. One render, one thread.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "package/render_request.h"
#include "package/rendered.h"
#include "package/source.h"
#include "wasm/limits.h"

namespace mist::package {

class ChartAnswers {
 public:
  /// How a chart is rendered.
  using Render = std::function<Result<Rendered>(const Source& chart, const RenderRequest& request)>;

  struct Bounds {
    Duration guest_time{};        ///< of all charts together
    std::size_t stack_bytes = 0;  ///< what a guest may use of a stack
    wasm::LimitFlags flags = wasm::LimitFlags::All;
  };

  /// `package`, whose content is files, and `request`, by which it is rendered, outlive this.
  ChartAnswers(const Source& package, const RenderRequest& request, const Bounds& bounds, Render render)
      : package_(package), request_(request), bounds_(bounds), render_(std::move(render)) {}

  /// To {"directory" or "archive", "values", …} (src/abi/v1/README.md): {"print", "drawn"}, or {"failure"} of
  /// what is wrong with the chart, its place below the package. Errors: Invalid for another form; NotFound
  /// without such files; Trap and others of rendering, and Trap for a bound. `waiting_memory`: bytes that the
  /// asking guest has while it waits.
  Result<Value> answer(const Value& request, std::uint64_t waiting_memory);

  /// The answered charts that drew random bytes from a seed that they share
  /// (RenderRequest::charts_share_seed), each with its release: "charts/web (release shop)".
  std::vector<std::string> drawing() const;

 private:
  Result<Source> chart_at(const Value& request) const;
  Result<RenderRequest> render_request(const Value& request) const;
  std::string identity(const Value& request, const RenderRequest& wanted) const;
  Result<Share> share(std::uint64_t waiting_memory) const;
  Result<Rendered> render(const Source& chart, const RenderRequest& request);

  const Source& package_;
  const RenderRequest& request_;
  Bounds bounds_;
  Render render_;
  Duration spent_{};
  std::map<std::string, std::string> drawing_;  // by identity
};

/// A request, and its answer.
struct ChartExchange {
  Value request;
  Value answer;
};

/// Invalid, naming the chart, if two renders with another seed, clock and namespace differ.
Status refuse_differences(const std::vector<ChartExchange>& one, const std::vector<ChartExchange>& other);

/// The files of a kustomization, and what its charts gave, where its engine looks for it
/// (engines/kustomize/README.md).
Result<Files> with_answers(Files files, const std::vector<ChartExchange>& exchanges);

}  // namespace mist::package
