#pragma once
// The error of Client::resource_for about a kind that may be served, by an aggregated API that doesn't answer
// now. It is not NotFound: who took the kind for gone would forget objects that are there. Any thread.

#include <string>
#include <string_view>

#include "apimachinery/gvk.h"
#include "base/error.h"

namespace mist::kube {

/// The fact of that error.
struct ApiDown {};

/// `service` is the APIService's name, "v1.example.com"; `because` its condition; `kubectl`:
/// Client::kubectl().
inline Error api_down(const apimachinery::GroupKind& kind, std::string_view service, std::string because,
                      std::string_view kubectl) {
  return error(ErrorKind::Retryable, "the API service {} doesn't answer, so nothing is known of {}", service,
               apimachinery::to_string(kind))
      .with_because(std::move(because))
      .with_frame("while asking which kinds its API service serves")
      .with_detail(ApiDown())
      .with_hint(
          fmt::format("repair what answers for it ({1} describe apiservice {0}), or, if nobody needs it any "
                      "more, {1} delete apiservice {0}",
                      service, kubectl));
}

inline bool is_api_down(const Error& failure) { return failure.detail<ApiDown>() != nullptr; }

}  // namespace mist::kube
