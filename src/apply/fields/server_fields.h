#pragma once
// Fields that only the API server and controllers write: exported manifests (`kubectl get -o yaml`) have
// them, and generators write empty ones (`creationTimestamp: null`, `status: {}`). The server refuses some
// and ignores the rest, so they are left out of what is applied. Pure; any thread.

#include <cstdint>
#include <string>
#include <vector>

#include "apimachinery/object.h"
#include "base/event.h"

namespace mist::apply {

struct DesiredObject;

enum class LeftOutBecause : std::uint8_t { OnlyTheServerSetsIt, ItsKindHasNoNamespace };

/// Something that a rendered object says and that isn't applied.
struct LeftOut {
  LeftOutBecause because = LeftOutBecause::OnlyTheServerSetsIt;
  std::string path;        ///< "metadata.uid", "spec.template.metadata.creationTimestamp", "status"
  std::uint32_t line = 0;  ///< 0: unknown
};

/// Takes them out of the object. `status`: whether its status has a writer of its own, through the
/// subresource. Returns those that said something.
std::vector<LeftOut> take_server_fields(apimachinery::Object& object, bool status);

/// Warns of what was left out, with object, file and line: of each object, or of many at once.
void warn_of_left_out(const std::vector<DesiredObject>& desired, EventSink& events);

}  // namespace mist::apply
