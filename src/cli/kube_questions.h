#pragma once
// Questions of a Kube's script to the person at the terminal. One thread.

#include <map>
#include <string>
#include <vector>

#include "action/deploy/deploy.h"
#include "base/secret.h"
#include "cli/machine.h"
#include "cli/parse/invocation.h"
#include "cli/wanted_release.h"
#include "kpm/home.h"
#include "package/pre_install.h"
#include "package/values.h"

namespace mist::cli {

struct Answered {
  package::ValuesInput value;  ///< as --set would give it
  /// The script's own answer, which nobody sees, is to stay: `value` tells only the next asking
  /// (kTakeDefault), and is no value of the release.
  bool keeps_default = false;
  /// The answer to a secret question, in the forms in which nobody prints it.
  std::map<std::string, SecretString> hidden = {};
};

/// An empty line takes the default. Errors: Cancelled (no answer came), Timeout, Invalid (three answers that
/// don't fit).
Result<Answered> ask_question(Machine& machine, const package::Question& question);

/// Lets the script of `kube` ask until it has all answers; they are among the values then. Nothing is
/// written. `kind`: of `values`. Returns Answered::hidden of all answers, for the render with them: the
/// Kube's schema may refuse one before the script can say that it is secret. Errors: those of
/// ask_question(), Invalid (too many, or the same question again).
Result<std::map<std::string, SecretString>> answer_questions(
    const Invocation& invocation, Machine& machine, const Cluster& cluster, const release::ReleaseId& id,
    const kpm::Kube& kube, const action::DeployOptions& options, Values kind,
    std::vector<package::ValuesInput>& values);

/// Runs a Kube's script on this machine, as --allow-host-scripts says; empty where that isn't given.
package::RunOnHost run_on_host(const Invocation& invocation, Machine& machine);

}  // namespace mist::cli
