#include "cli/output/prompt.h"

#include "base/text.h"
#include "cli/output/style.h"

namespace mist::cli {
namespace {

Status check_asking(const Machine& machine, const Invocation& invocation, const Question& question) {
  if (can_ask(machine)) return {};
  return error(ErrorKind::Usage, "{} asks for what it wasn't given, and nobody can answer here",
               invocation.typed_command())
      .with_because(fmt::format("the question is: {}", trim(question.text)))
      .with_hint(fmt::format("add {}", question.instead));
}

Result<std::string> answered(Machine& machine, Result<std::optional<std::string>> answer) {
  if (!answer.ok()) return std::move(answer).error();
  if (*answer) return **std::move(answer);
  machine.err.write("\n");
  return error(ErrorKind::Cancelled, "the input ended before the answer");
}

}  // namespace

bool can_ask(const Machine& machine) {
  return machine.in.is_terminal() && machine.err.is_terminal() && !machine.json_events;
}

Result<std::string> ask(Machine& machine, const Invocation& invocation, const Question& question) {
  MIST_TRY_VOID(check_asking(machine, invocation, question));
  const ScreenPause pause(machine.screen);
  machine.err.write(escape_controls(question.text));
  MIST_TRY(const std::string line, answered(machine, machine.in.read_line(machine.context)));
  return std::string(trim(line));
}

Result<SecretString> ask_secret(Machine& machine, const Invocation& invocation, const Question& question) {
  MIST_TRY_VOID(check_asking(machine, invocation, question));
  const ScreenPause pause(machine.screen);
  auto answer = machine.in.read_hidden_line(machine.context,
                                            [&] { machine.err.write(escape_controls(question.text)); });
  machine.err.write("\n");  // the one that was typed isn't seen
  MIST_TRY(std::string text, answered(machine, std::move(answer)));
  return SecretString(std::move(text));
}

Result<bool> confirm(Machine& machine, const Invocation& invocation, std::string_view question) {
  if (invocation.enabled("yes")) return true;
  if (!can_ask(machine))
    return error(ErrorKind::Usage, "{} asks before it continues, and nobody can answer here",
                 invocation.typed_command())
        .with_because(fmt::format("the question is: {}", question))
        .with_hint("add --yes");
  const ScreenPause pause(machine.screen);  // or the question would be painted over
  while (true) {
    machine.err.write(
        paint(machine.color_err, Tone::Strong, fmt::format("{} [y/N] ", escape_controls(question))));
    const auto answer = machine.in.read_line(machine.context);
    if (!answer.ok() || !*answer) {
      if (answer.ok() || machine.screen != nullptr)
        machine.err.write("\n");  // else the interruption gets its line
      return answer.ok() ? Result<bool>(false) : answer.error();
    }
    const std::string_view word = trim(**answer);
    if (word == "y" || word == "Y" || word == "yes") return true;
    if (word.empty() || word == "n" || word == "N" || word == "no") return false;
  }
}

}  // namespace mist::cli
