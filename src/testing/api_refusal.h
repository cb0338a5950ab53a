#pragma once
// An API server's refusal, as kube::status_error() makes it of the server's words and causes. Pure.

#include <string>
#include <vector>

#include "base/error.h"
#include "kube/api_failure.h"

namespace mist::testing {

/// `words` become its `because`, and what they and the causes mean its kube::ApiFailure.
Error api_refusal(ErrorKind kind, std::string message, std::string words,
                  const std::vector<kube::ApiFailure::Cause>& causes = {});

}  // namespace mist::testing
