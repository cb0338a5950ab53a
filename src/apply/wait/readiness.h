#pragma once
// Whether an object is as it should be, from its status: the kstatus rules for the kinds that have some.
// Pure; any thread.

#include <array>
#include <string>
#include <string_view>

#include "apimachinery/object.h"

namespace mist::apply {

enum class Health : std::uint8_t {
  Ready,
  InProgress,
  Failed,  ///< it won't become ready by waiting
};

struct Readiness {
  Health health = Health::Ready;
  std::string detail;  ///< "1 of 3 replicas are ready"; empty when ready and nothing is to be said
};

/// True for kinds whose readiness is more than being there.
bool has_readiness_rule(const apimachinery::GroupKind& kind);

/// The process that writing an object starts, of which people want to know when it is ready.
enum class Starts : std::uint8_t {
  Nothing,   ///< it is ready with the write, or nearly so: a ConfigMap, a Namespace, a ClusterIP Service
  Workload,  ///< Pods
  Other,     ///< a load balancer, a claim, what a custom resource's controller does
};
Starts starts(const apimachinery::Object& wanted);

/// Conditions of a namespace that is being deleted: what is left in it, or can't be looked at or deleted.
inline constexpr std::array<std::string_view, 5> kNamespaceRemains{
    "NamespaceDeletionDiscoveryFailure", "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure", "NamespaceContentRemaining", "NamespaceFinalizersRemaining"};

/// Of an object that is being deleted, why it is still there, as far as it tells: "it is being deleted, and
/// its finalizer example.com/hold holds it".
std::string why_terminating(const encoding::Value& live);

/// `live`: the whole object. A kind without a rule is Ready when it isn't being deleted.
Readiness readiness(const encoding::Value& live);

}  // namespace mist::apply
