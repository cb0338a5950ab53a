#include "catalog/version_objects.h"

#include "action/query/graph.h"
#include "apply/plan/desired.h"
#include "apply/plan/test_objects.h"
#include "catalog/security_report.h"
#include "catalog/version_changes.h"
#include "encoding/json.h"
#include "view/graph_drawing.h"

namespace mist::catalog {

using encoding::Value;

Result<VersionObjects> version_objects(package::Renderer& renderer, const package::Source& source,
                                       const package::RenderRequest& request, const Context& context) {
  MIST_TRY(package::Rendered rendered, renderer.render(source, request, context));
  const release::ReleaseId id{request.release_namespace, request.release_name};
  std::vector<release::RenderedObject> hooks;
  if (rendered.engine == apply::kChartEngine) hooks = apply::take_chart_parts(rendered.objects).hooks;
  MIST_TRY_VOID(apply::take_tests(rendered.objects));
  std::vector<release::RenderedObject> all = rendered.objects;
  all.insert(all.end(), hooks.begin(), hooks.end());
  VersionObjects result{.security = security_report(all), .text = text_of(all)};
  if (result.text.size() > kMostTextBytes) result.text = kTooLongText;
  MIST_TRY(std::vector<apply::DesiredObject> desired,
           apply::prepare_offline(std::move(rendered.objects), id));
  std::vector<release::RenderedObject> objects;
  objects.reserve(desired.size());
  for (apply::DesiredObject& object : desired) objects.push_back(std::move(object.rendered));
  const std::size_t count = objects.size() + hooks.size();
  result.graph = Value::object({{"nodes", Value::array()}, {"edges", Value::array()}});
  if (count <= kMostGraphObjects) {
    MIST_TRY(const action::ReleaseGraph order,
             action::graph_of(id, -1, std::move(objects), hooks, apply::HookVerb::Install));
    Value whole = view::graph_value(order);
    if (encoding::to_json(whole).size() <= kMostGraphBytes) result.graph = std::move(whole);
  }
  result.graph.set("objects", Value(count));
  return result;
}

}  // namespace mist::catalog
