#pragma once
// Whether the CRD that a person applies (modes await and publish) has the API server ask this operator's
// webhook, and trust it. Pure; any thread.

#include <string>
#include <vector>

#include "encoding/value.h"

namespace mist::operator_ {

using encoding::Value;

struct ConversionFit {
  std::vector<std::string> misfits = {};  ///< with these nothing is converted: "caBundle: …"
  std::vector<std::string> soon = {};     ///< with these nothing will be, once the certificate is renewed
};

/// `live`: spec.conversion of the CRD; null: it has none. `wanted`: ConversionWebhook::strategy(). The port
/// of a Service is the person's, who may have given it another one. Where `wanted` names no authorities, the
/// API server has them, and any caBundle does.
ConversionFit fit_of_conversion(const Value* live, const Value& wanted);

}  // namespace mist::operator_
