#include "cli/output/prompt.h"

#include "base/text.h"
#include "cli/output/style.h"

namespace mist::cli {
namespace {

Status check_asking(const World& world, const Invocation& invocation, const Question& question) {
  if (can_ask(world)) return {};
  return error(ErrorKind::Usage, "mistctl {} asks for what it wasn't given, and nobody can answer here",
               invocation.command().path)
      .with_because(fmt::format("the question is: {}", trim(question.text)))
      .with_hint(fmt::format("add {}", question.instead));
}

Result<std::string> answered(World& world, Result<std::optional<std::string>> answer) {
  if (!answer.ok()) return std::move(answer).error();
  if (*answer) return **std::move(answer);
  world.err.write("\n");
  return error(ErrorKind::Cancelled, "the input ended before the answer");
}

}  // namespace

bool can_ask(const World& world) {
  return world.in.is_terminal() && world.err.is_terminal() && !world.json_events;
}

Result<std::string> ask(World& world, const Invocation& invocation, const Question& question) {
  MIST_TRY_VOID(check_asking(world, invocation, question));
  const ScreenPause pause(world.screen);
  world.err.write(escape_controls(question.text));
  MIST_TRY(const std::string line, answered(world, world.in.read_line(world.context)));
  return std::string(trim(line));
}

Result<SecretString> ask_secret(World& world, const Invocation& invocation, const Question& question) {
  MIST_TRY_VOID(check_asking(world, invocation, question));
  const ScreenPause pause(world.screen);
  auto answer =
      world.in.read_hidden_line(world.context, [&] { world.err.write(escape_controls(question.text)); });
  world.err.write("\n");  // the one that was typed isn't seen
  MIST_TRY(std::string text, answered(world, std::move(answer)));
  return SecretString(std::move(text));
}

Result<bool> confirm(World& world, const Invocation& invocation, std::string_view question) {
  if (invocation.enabled("yes")) return true;
  if (!can_ask(world))
    return error(ErrorKind::Usage, "mistctl {} asks before it continues, and nobody can answer here",
                 invocation.command().path)
        .with_because(fmt::format("the question is: {}", question))
        .with_hint("add --yes");
  const ScreenPause pause(world.screen);  // or the question would be painted over
  while (true) {
    world.err.write(
        paint(world.color_err, Tone::Strong, fmt::format("{} [y/N] ", escape_controls(question))));
    const auto answer = world.in.read_line(world.context);
    if (!answer.ok() || !*answer) {
      if (answer.ok() || world.screen != nullptr)
        world.err.write("\n");  // else the interruption gets its line
      return answer.ok() ? Result<bool>(false) : answer.error();
    }
    const std::string_view word = trim(**answer);
    if (word == "y" || word == "Y" || word == "yes") return true;
    if (word.empty() || word == "n" || word == "N" || word == "no") return false;
  }
}

}  // namespace mist::cli
