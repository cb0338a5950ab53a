#pragma once
// Jobs with spec.ttlSecondsAfterFinished: once such a Job has ended, a controller deletes it, perhaps before
// anybody saw that it had. Its absence is not a loss, and no reason to run it again. Blocking only where
// said; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "apply/inventory.h"
#include "apply/wait/readiness.h"
#include "base/clock.h"
#include "base/context.h"
#include "kube/client.h"

namespace mist::apply {

inline constexpr std::string_view kRemovedByItsTtl = "finished; removed by its ttlSecondsAfterFinished";

/// Of such a Job the time between its end and its removal.
std::optional<Duration> removal_delay(const encoding::Value& object);
/// Whether the object is such a Job.
inline bool removes_itself(const encoding::Value& object) { return removal_delay(object).has_value(); }

/// How such a Job ended, by what was last seen of it, which may be its deletion: Ready or Failed. nullopt: it
/// had not ended, or is no such Job.
std::optional<Readiness> ended_job(const encoding::Value& last);

/// How a Job ended, by its Events.
enum class JobEnd : std::uint8_t {
  Completed,
  Failed,
  None,     ///< there are Events of it, and none says that it ended: somebody deleted it
  Unknown,  ///< there are none (a server keeps them for an hour), or they may not be read
};

/// Of a Job that is gone. An Event of its end comes a moment later, so where there are others this waits for
/// one, a few seconds at most.
JobEnd job_end(kube::Client& client, const std::string& ns, const std::string& uid, const Context& context);

/// Such a Job that is gone.
struct GoneJob {
  ObjectKey key;
  std::string uid;
  Duration removal_delay{};
};

/// How it ended, by what its controller said in Events. They come a moment later, so this waits for one, a
/// few seconds at most. Nullopt: there are Events of it and none tells of an end, although its delay would
/// have left time for that: somebody deleted it. Otherwise Ready if there is none, since only what has ended
/// is removed.
std::optional<Readiness> gone_job(kube::Client& client, const GoneJob& job, const Context& context);

}  // namespace mist::apply
