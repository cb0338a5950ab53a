#pragma once
// The real clock, of a machine on which rights don't run out: boot time stands still. A lock held by it is
// kept until its holder gives it back or dies, however slow the machine is that runs the test. Any thread.

#include "base/clock.h"

namespace mist::testing {

class StoppedBootClock final : public Clock {
 public:
  WallTime now() const override { return real_.now(); }
  SteadyTime steady_now() const override { return real_.steady_now(); }
  BootTime boot_now() const override { return began_; }
  bool sleep(Duration duration, std::stop_token stop) override {
    return real_.sleep(duration, std::move(stop));
  }

 private:
  SystemClock real_;
  const BootTime began_ = BootClock::now();
};

}  // namespace mist::testing
