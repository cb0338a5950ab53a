#pragma once
// A text on a terminal that is drawn over itself, cut at the screen's height:
//
//   RedrawnText frame(machine.out);
//   frame.draw(one); frame.draw(other);
//
// As with live_progress.h nothing of the terminal's state is changed. One thread.

#include <string>
#include <string_view>

#include "cli/machine.h"

namespace mist::cli {

class RedrawnText {
 public:
  /// `out` outlives this.
  explicit RedrawnText(Output& out) : out_(out) {}

  /// `text`: whole lines, perhaps with colors.
  void draw(std::string_view text);

 private:
  Output& out_;
  std::string shown_;  // as it stands on the screen, cut already
};

}  // namespace mist::cli
