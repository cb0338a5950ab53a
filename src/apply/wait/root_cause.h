#pragma once
// Root causes: what is to blame that objects aren't ready, down to the container, with events, exit codes and
// the last log lines. Reads only, a bounded number of requests; what may not be read becomes a note.
// Blocking; any thread.

#include <string>
#include <vector>

#include "apimachinery/object.h"
#include "apply/wait/pod_trouble.h"
#include "base/context.h"
#include "base/diagnosis.h"
#include "kube/client.h"

namespace mist::apply {

/// Looking for a root cause may take this long beyond the limit of what was waited for.
inline constexpr Duration kDiagnosisLimit = std::chrono::seconds(10);

/// Of many unready objects, this many are looked into: a broken release of a thousand is explained by its
/// first.
inline constexpr std::size_t kObjectsLookedInto = 10;

struct Unready {
  apimachinery::ObjectKey key;
  kube::ResourceInfo resource;
  encoding::Value live;  ///< as it was last seen; null: it never was there
  std::string detail;    ///< what readiness() said
};

/// Whether the logs of containers are read, too: nothing for callers that may not show them.
enum class PodLogs : std::uint8_t { Read, Left };

/// A tree with a child for each object (the first kObjectsLookedInto are looked into). `subject` names the
/// whole: kind "Release", name "shop/web".
Diagnosis diagnose(kube::Client& client, std::string kind, std::string name,
                   const std::vector<Unready>& objects, const Context& context, PodLogs logs = PodLogs::Read);

/// The newest warning that somebody reported about an object: "FailedCreate: Error creating: …". Its `cause`
/// is the same for warnings that differ by generated names only. Nothing where there is none, or none may be
/// read.
PodTrouble last_warning(kube::Client& client, const std::string& ns, const std::string& uid,
                        const Context& context);

/// The last log lines of a container as a diagnosis shows them.
inline constexpr int kDiagnosedLogLines = 10;

/// A Pod and its containers as far as its own status tells, without events and logs. Pure.
Diagnosis describe_pod(const encoding::Value& pod);

/// A hint with the first remedy in the tree behind it, if there is one. Pure.
std::string with_remedy(std::string hint, const Diagnosis& whole);
/// One line for an object's part of the tree: "Deployment shop/api: 0 of 1 replicas are available: container
/// main of Pod shop/api-x: CrashLoopBackOff: …". Pure.
std::string in_one_line(const Diagnosis& object);
/// The same without the object itself, for callers that have named it, and with the first remedy in front:
/// "container main: ImagePullBackOff: …". Of nothing that is to blame: what could not be read; empty:
/// nothing. Pure.
std::string cause_in_one_line(const Diagnosis& object);

}  // namespace mist::apply
