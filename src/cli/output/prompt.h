#pragma once
// Questions to the user. One thread; what progress draws is away meanwhile.

#include <string>
#include <string_view>

#include "base/secret.h"
#include "cli/machine.h"
#include "cli/parse/invocation.h"

namespace mist::cli {

/// Whether there is a person who can be asked: at a terminal, and where no program reads events.
bool can_ask(const Machine& machine);

/// True at once when kConfirmFlags' --yes was given; else asks `question` ("Delete 3 objects of shop?") on
/// the terminal until the answer is y or n; Enter and the end of input mean no. Errors: Usage when stdin or
/// stderr is not a terminal (scripts must say --yes), Cancelled.
Result<bool> confirm(Machine& machine, const Invocation& invocation, std::string_view question);

/// The question, and the flag that answers it where nobody can: {"User of registry.example: ", "-u NAME"}.
struct Question {
  std::string text;
  std::string_view instead;
};
/// One line that the user types. Errors: Usage when nobody can answer, Cancelled.
Result<std::string> ask(Machine& machine, const Invocation& invocation, const Question& question);
/// The same, not shown while it is typed.
Result<SecretString> ask_secret(Machine& machine, const Invocation& invocation, const Question& question);

}  // namespace mist::cli
