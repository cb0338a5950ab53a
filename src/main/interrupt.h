#pragma once
// SIGINT and SIGTERM as a stop token. The first one asks the command to stop and clean up; the second ends
// the process at once with exit code 130. SIGPIPE is ignored: a closed pipe is an error of write(2). SIGCHLD
// gets its default back. These dispositions are the process's, so there is one Interrupt, made by main before
// any other thread.

#include <stop_token>
#include <thread>

#include "base/handle.h"
#include "base/pulse.h"

namespace mist {

class Interrupt {
 public:
  Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();

  std::stop_token token() const { return source_.get_token(); }
  /// Beats as long as this lives and no signal came.
  Pulse& pulse() { return pulse_; }

 private:
  std::stop_source source_;
  Pulse pulse_;
  UniqueFd read_, write_;
  std::thread waiter_;
};

}  // namespace mist
