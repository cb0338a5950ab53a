#pragma once
// Questions of a Kube's script to the person at the terminal. One thread.

#include <vector>

#include "cli/parse/invocation.h"
#include "cli/world.h"
#include "package/pre_install.h"
#include "package/values.h"

namespace mist::cli {

struct Answered {
  package::ValuesInput value;  ///< as --set would give it
  /// The script's own answer, which nobody sees, is to stay: `value` tells only the next asking
  /// (kTakeDefault), and is no value of the release.
  bool keeps_default = false;
};

/// An empty line takes the default. Errors: Cancelled (no answer came), Timeout, Invalid (three answers that
/// don't fit).
Result<Answered> ask_question(World& world, const package::Question& question);

/// Runs a Kube's script on this machine, as --allow-host-scripts says; empty where that isn't given.
package::RunOnHost run_on_host(const Invocation& invocation, World& world);

}  // namespace mist::cli
