#pragma once
// Questions of a Kube's script to the person at the terminal. One thread.

#include <vector>

#include "cli/parse/invocation.h"
#include "cli/world.h"
#include "package/pre_install.h"
#include "package/values.h"

namespace mist::cli {

/// Whether there is a person who can be asked.
bool can_ask(const Invocation& invocation, const World& world);

/// The answer as --set would give it. An empty line takes the default. Errors: Cancelled (no answer came),
/// Timeout, Invalid (three answers that don't fit).
Result<package::ValuesInput> ask_question(World& world, const package::Question& question);

/// Runs a Kube's script on this machine, as --allow-host-scripts says; empty where that isn't given.
package::RunOnHost run_on_host(const Invocation& invocation, World& world);

}  // namespace mist::cli
