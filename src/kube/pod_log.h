#pragma once
// Logs of containers: what a client of a cluster can read beside objects. Blocking; any thread.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/context.h"
#include "base/result.h"
#include "kube/client.h"

namespace mist::kube {

struct PodLogOptions {
  std::string container = {};
  bool previous = false;         ///< of the run before the present one
  bool follow = false;           ///< until the container ends
  int tail_lines = -1;           ///< the last lines; negative: all
  std::int64_t limit_bytes = 0;  ///< 0: none
};
/// Gets the text as it arrives; returns false to end.
using LogPiece = std::function<bool(std::string_view)>;

/// The clients that can.
class PodLogs {
 public:
  virtual ~PodLogs() = default;
  /// GET pods/NAME/log. Invalid while the container hasn't begun, or has no previous run; NotFound.
  virtual Status pod_log(const std::string& ns, const std::string& pod, const PodLogOptions& options,
                         const LogPiece& piece, const Context& context) = 0;
};

/// Through a client that is a PodLogs too; Invalid: this one isn't.
Status pod_log(Client& client, const std::string& ns, const std::string& pod, const PodLogOptions& options,
               const LogPiece& piece, const Context& context);

}  // namespace mist::kube
