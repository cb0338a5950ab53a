#pragma once
// The grammar of the annotations mistletoe.dev/after and mistletoe.dev/before: comma separated targets
//
//   [outside:]KIND[.GROUP]/[NAMESPACE/]NAME[@ready|@present|@absent][?]
//
// KIND is compared without case; the namespace is that of the annotated object if none is given; `?` allows
// the target to be missing; `outside:` names an object that isn't part of the release. Pure; any thread.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apply/order/order.h"
#include "base/result.h"

namespace mist::apply {

struct DeclaredTarget {
  std::string text;  ///< as written
  std::string kind;
  std::optional<std::string> group;
  std::optional<std::string> ns;
  std::string name;
  EdgePredicate predicate = EdgePredicate::Present;
  bool optional = false;
  bool outside = false;
};

/// Invalid when the text isn't of that form; the message quotes the part that isn't.
Result<std::vector<DeclaredTarget>> parse_targets(std::string_view annotation);

}  // namespace mist::apply
