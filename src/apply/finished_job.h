#pragma once
// Jobs with spec.ttlSecondsAfterFinished: once such a Job has ended, a controller deletes it, perhaps before
// anybody saw that it had. Its absence is not a loss, and no reason to run it again. Blocking only where
// said; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "apimachinery/object.h"
#include "apply/readiness.h"
#include "base/context.h"
#include "kube/client.h"

namespace mist::apply {

inline constexpr std::string_view kRemovedByItsTtl = "finished; removed by its ttlSecondsAfterFinished";

/// Whether the object is such a Job.
bool removes_itself(const encoding::Value& object);

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

/// How such a Job ended that is gone, by what its controller said in Events. They come a moment later, so
/// this waits for one, a few seconds at most. Ready if there is none: only what has ended is removed.
Readiness gone_job(kube::Client& client, const std::string& ns, const std::string& uid,
                   const Context& context);

}  // namespace mist::apply
