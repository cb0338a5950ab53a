#pragma once
// The Pod Security Standards (kubernetes.io/docs/concepts/security/pod-security-standards, as Kubernetes 1.36
// enforces the newest version of them): which of the three levels a Pod needs, and why not a lower one. Pure;
// any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encoding/value.h"

namespace mist::apimachinery {

/// From the strictest on: a namespace of one level takes Pods of those before it.
enum class PodSecurity : std::uint8_t { Restricted, Baseline, Privileged };
std::string_view to_string(PodSecurity level);  ///< "restricted", "baseline", "privileged"

struct PodSecurityFault {
  PodSecurity needs = PodSecurity::Baseline;  ///< the strictest level that allows it
  std::string place = {};                     ///< "container main", "initContainer wait"; empty: the Pod
  std::string what = {};                      ///< "securityContext.privileged is true"
  encoding::Position position = {};           ///< of the value, or of what lacks it
};

/// The reasons why a Pod needs more than Restricted. `pod`: with `metadata` and `spec`, a Pod or the template
/// of one. Empty: nothing. Members of a wrong type count as absent.
std::vector<PodSecurityFault> pod_security_faults(const encoding::Value& pod);

/// The strictest level that allows all of them.
PodSecurity level_of(const std::vector<PodSecurityFault>& faults);

}  // namespace mist::apimachinery
