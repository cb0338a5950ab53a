#include <algorithm>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/machine.h"
#include "cli/output/help.h"
#include "cli/output/manual.h"

namespace mist::cli {
namespace {

constexpr Argument kArguments[] = {
    {.name = "COMMAND",
     .help = "The command, one to three words; without it all commands are listed",
     .arity = Arity::Any,
     .completion = Completion::Command},
};
constexpr Example kExamples[] = {
    {"mistctl help registry add", "The manual page that describes the command"},
};

Result<ExitCode> run_help(const Invocation& invocation, Machine& machine) {
  const CommandTable& table = command_table();
  const std::vector<std::string> words = invocation.arguments("COMMAND");
  const int columns = machine.out.columns();
  if (words.empty()) {
    machine.out.write(help_text({}, table, columns, machine.color_out));
    return ExitCode::Ok;
  }
  MIST_TRY(const HelpTopic topic, topic_of(words, table));
  if (const ManualPage* page = find_page(words[0]); page != nullptr)
    machine.out.write(render_page(*page, columns, machine.color_out));
  else
    machine.out.write(help_text(topic, table, columns, machine.color_out));
  return ExitCode::Ok;
}

constexpr Argument kManualArguments[] = {
    {.name = "DIRECTORY", .help = "Where to write them", .completion = Completion::Directory},
};

Result<ExitCode> run_manual_pages(const Invocation& invocation, Machine& machine) {
  const Path directory = invocation.argument("DIRECTORY");
  for (const ManualPage& page : manual_pages())
    MIST_TRY_VOID(machine.files.write(directory / fmt::format("mistctl-{}.1", page.name),
                                      roff_page(page, command_table(), machine.build.version),
                                      {.durable = false}));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kHelpCommand{.path = "help",
                                     .summary = "Print the manual page of a command",
                                     .run = run_help,
                                     .arguments = kArguments,
                                     .examples = kExamples,
                                     .cluster = ClusterUse::None};

// For the build: `cmake --build … --target manual_pages`.
constinit const Command kManualPagesCommand{.path = "__manual-pages",
                                            .summary = "Write the manual pages for man(1)",
                                            .run = run_manual_pages,
                                            .arguments = kManualArguments,
                                            .hidden = true};

}  // namespace mist::cli
