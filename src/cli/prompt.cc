#include "cli/prompt.h"

#include "base/text.h"
#include "cli/style.h"

namespace mist::cli {

Result<bool> confirm(World& world, const Invocation& invocation, std::string_view question) {
  if (invocation.enabled("yes")) return true;
  // Where events are asked for, a program reads standard error.
  if (!world.in.is_terminal() || !world.err.is_terminal() || invocation.text("events") == "jsonl")
    return error(ErrorKind::Usage, "mistctl {} asks before it goes on, and nobody can answer here",
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
