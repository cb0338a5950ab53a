#include "base/event.h"

#include <atomic>

namespace mist {

Activity::Activity(EventSink& sink, std::string text)
    : sink_(sink), id_([] {
        static std::atomic<std::uint64_t> next{1};
        return next++;
      }()) {
  sink_.began({id_, std::move(text)});
}

}  // namespace mist
