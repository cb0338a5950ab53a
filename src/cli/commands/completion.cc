#include "cli/commands.h"
#include "cli/complete.h"
#include "cli/invocation.h"
#include "cli/names.h"

namespace mist::cli {
namespace {

// The first line of what __complete prints says how the rest is meant; see print_reply.
constexpr std::string_view kBashScript =
    R"~(# bash completion for mistctl; load it with: source <(mistctl completion bash)
_mistctl() {
  local reply how current=${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
  mapfile -t reply < <("${COMP_WORDS[0]}" __complete -- "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
  how=${reply[0]:-words}
  COMPREPLY=("${reply[@]:1}")
  # bash makes a word of its own of = and : inside ours.
  case $current in '=' | ':') current= ;; esac
  case $how in
    *files*) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current"); compopt -o filenames ;;
    *directories*) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$current"); compopt -o filenames ;;
  esac
  case $how in *nospace*) compopt -o nospace ;; esac
}
complete -F _mistctl mistctl
)~";

constexpr Example kExamples[] = {
    {"source <(mistctl completion bash)", "For this shell; in ~/.bashrc for all"},
};

Result<ExitCode> run_bash(const Invocation&, World& world) {
  world.out.write(kBashScript);
  return ExitCode::Ok;
}

constexpr Argument kCompleteArguments[] = {
    {.name = "LINE", .help = "The command line up to the cursor"},
    {.name = "BREAKS", .help = "$COMP_WORDBREAKS"},
};

void print_reply(const CompletionReply& reply, World& world) {
  std::string how = "words";
  if (reply.files == CompletionReply::Files::Files) how += " files";
  if (reply.files == CompletionReply::Files::Directories) how += " directories";
  if (reply.no_space) how += " nospace";
  world.out.write(how + "\n");
  for (const std::string& word : reply.words) world.out.write(word + "\n");
}

Result<ExitCode> run_complete(const Invocation& invocation, World& world) {
  const std::string line = invocation.argument("LINE");
  CompletionReply reply = complete(line, command_table(), [&](Completion kind, const ClusterChoice& cluster) {
    return names_of(kind, cluster, world);
  });
  strip_to_last_break(reply, line, invocation.argument("BREAKS"));
  print_reply(reply, world);
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kCompletionBashCommand{.path = "completion bash",
                                               .summary = "Print the completion script for bash",
                                               .run = run_bash,
                                               .examples = kExamples};

// What the script asks.
constinit const Command kCompleteCommand{.path = "__complete",
                                         .summary = "Complete a command line",
                                         .run = run_complete,
                                         .arguments = kCompleteArguments,
                                         .hidden = true};

}  // namespace mist::cli
