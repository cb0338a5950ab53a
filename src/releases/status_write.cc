#include "releases/status_write.h"

#include <string>
#include <utility>

#include "kube/api_failure.h"
#include "reconcile/queries.h"

namespace mist::releases {

Result<StatusWritten> write_status(kube::Client& client, const kube::ObjectRef& ref, const Value& identity,
                                   const Value& status, const Context& context) {
  const auto apply = [&](const Value& wanted) {
    Value object = identity;
    object.set("status", wanted);
    return client.apply(ref, object,
                        {.field_manager = fmt::format("{}-status", reconcile::kManager),
                         .force = true,
                         .subresource = "status"},
                        context);
  };
  auto written = apply(status);
  bool is_crd_older = false;
  if (!written.ok() && kube::is_sent_undeclared(written.error())) {
    for (const Value& older : statuses_of_older_crds(status)) {
      is_crd_older = true;
      written = apply(older);
      if (written.ok() || !kube::is_sent_undeclared(written.error())) break;
    }
  }
  if (!written.ok()) return std::move(written).error();
  return StatusWritten{*std::move(written), is_crd_older};
}

}  // namespace mist::releases
