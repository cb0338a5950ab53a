#include "testing/api_refusal.h"

#include <utility>

namespace mist::testing {

Error api_refusal(ErrorKind kind, std::string message, std::string words,
                  const std::vector<kube::ApiFailure::Cause>& causes) {
  using encoding::Value;
  Value list = Value::array();
  for (const auto& [reason, field] : causes)
    list.push_back(Value::object({{"reason", reason}, {"field", field}, {"message", words}}));
  Value status = Value::object({{"kind", "Status"}, {"message", words}});
  status.set("details", Value::object({{"causes", std::move(list)}}));
  kube::ApiFailure fact = kube::read_failure(status, kind);
  Error failure = error(kind, "{}", message).with_because(std::move(words));
  return std::move(failure).with_detail(std::move(fact));
}

}  // namespace mist::testing
