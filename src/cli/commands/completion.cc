#include <algorithm>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/parse/complete.h"
#include "cli/parse/invocation.h"
#include "cli/parse/names.h"
#include "view/display_width.h"

namespace mist::cli {
namespace {

// The first line of what __complete prints says how the rest is meant; see print_reply.
constexpr std::string_view kBashScript =
    R"~(# bash completion for mistctl and kpm; load it with: source <(mistctl completion bash)
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
complete -F _mistctl mistctl kpm
)~";

// As a file in a directory of $fpath it is loaded as the function itself; sourced, it registers that.
constexpr std::string_view kZshScript =
    R"~(#compdef mistctl kpm
# zsh completion for mistctl and kpm; load it with: source <(mistctl completion zsh)
_mistctl() {
  local -a reply flags found shown
  local how line word tab=$'\t'
  local -i width=0
  reply=("${(@f)$("${(Q)words[1]}" __complete --descriptions -- "${(j: :)words[1,CURRENT-1]} $PREFIX" "" 2>/dev/null)}")
  how=${reply[1]:-words}
  shift reply
  reply=("${(@)reply:#}")
  for line in "${reply[@]}"; do
    word=${line%%$tab*}
    (( ${#word} > width )) && width=${#word}
  done
  for line in "${reply[@]}"; do
    word=${line%%$tab*}
    found+=("$word")
    if [[ $line == *$tab* ]]; then shown+=("${(r:width:)word}  -- ${line#*$tab}"); else shown+=("$word"); fi
  done
  [[ $how == *nospace* ]] && flags=(-S '')
  [[ "${reply[*]}" == *$tab* ]] && flags+=(-l)
  (( ${#found} )) && compadd "${flags[@]}" -d shown -- "${found[@]}"
  [[ $how == *files* || $how == *directories* ]] || return 0
  [[ $PREFIX == --*=* ]] && compset -P '*='
  compset -P 'oci-(layout|archive):'
  if [[ $how == *files* ]]; then _files; else _files -/; fi
}
if [[ ${funcstack[1]} == _mistctl ]]; then
  _mistctl "$@"
else
  compdef _mistctl mistctl kpm
fi
)~";

constexpr std::string_view kFishScript =
    R"~(# fish completion for mistctl and kpm; load it with: mistctl completion fish | source
function __mistctl_complete
    set -l program (commandline -opc)[1]
    set -l reply ($program __complete --descriptions -- (commandline -cp | string collect) "" 2>/dev/null)
    set -q reply[1]; or return
    set -l how $reply[1]
    set -q reply[2]; and printf '%s\n' $reply[2..-1]
    set -l current (commandline -ct)
    set -l before (string match -r -- '^(?:--[^=]+=)?(?:oci-(?:layout|archive):)?' $current)
    set -l path (string replace -r -- '^(?:--[^=]+=)?(?:oci-(?:layout|archive):)?' '' $current)
    switch $how
        case '*files*'
            for found in (__fish_complete_path $path)
                echo "$before$found"
            end
        case '*directories*'
            for found in (__fish_complete_directories $path '')
                echo "$before$found"
            end
    end
end
complete -c mistctl -f -a '(__mistctl_complete)'
complete -c kpm -f -a '(__mistctl_complete)'
)~";

constexpr Example kBashExamples[] = {
    {"source <(mistctl completion bash)", "For this shell; in ~/.bashrc for all"},
};
constexpr Example kZshExamples[] = {
    {"source <(mistctl completion zsh)", "For this shell; in ~/.zshrc, after compinit, for all"},
};
constexpr Example kFishExamples[] = {
    {"mistctl completion fish | source", "For this shell"},
};

Result<ExitCode> run_bash(const Invocation&, Machine& machine) {
  machine.out.write(kBashScript);
  return ExitCode::Ok;
}
Result<ExitCode> run_zsh(const Invocation&, Machine& machine) {
  machine.out.write(kZshScript);
  return ExitCode::Ok;
}
Result<ExitCode> run_fish(const Invocation&, Machine& machine) {
  machine.out.write(kFishScript);
  return ExitCode::Ok;
}

constexpr Argument kCompleteArguments[] = {
    {.name = "LINE", .help = "The command line up to the cursor"},
    {.name = "BREAKS", .help = "$COMP_WORDBREAKS"},
};

constexpr Flag kCompleteFlags[] = {
    {.name = "descriptions", .help = "Print a tab and a description behind each word, where one is known"}};
constexpr FlagGroup kCompleteGroups[] = {{"Flags", kCompleteFlags}};

// One line without a tab, short enough to stand beside a word.
std::string description_of(const CompletionReply& reply, const std::string& word) {
  constexpr int kWidth = 100;
  const auto found = reply.descriptions.find(word);
  if (found == reply.descriptions.end()) return {};
  std::string text = found->second;
  std::ranges::replace_if(text, [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return "\t" + view::fit_width(escape_controls(text), kWidth);
}

void print_reply(const CompletionReply& reply, Machine& machine, bool described) {
  std::string how = "words";
  if (reply.files == CompletionReply::Files::Files) how += " files";
  if (reply.files == CompletionReply::Files::Directories) how += " directories";
  if (reply.no_space) how += " nospace";
  machine.out.write(how + "\n");
  for (const std::string& word : reply.words)
    machine.out.write(word + (described ? description_of(reply, word) : "") + "\n");
}

// By its other name the program is a group of its commands.
std::string full_line(const std::string& line) {
  const std::string program = line.substr(0, line.find(' '));
  if (program.size() == line.size() || Path(program).filename() != "kpm") return line;
  return program + " kpm" + line.substr(program.size());
}

Result<ExitCode> run_complete(const Invocation& invocation, Machine& machine) {
  const std::string line = full_line(invocation.argument("LINE"));
  CompletionReply reply =
      complete(line, command_table(), [&](const NameQuery& query) { return names_of(query, machine); });
  strip_to_last_break(reply, line, invocation.argument("BREAKS"));
  print_reply(reply, machine, invocation.enabled("descriptions"));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kCompletionBashCommand{.path = "completion bash",
                                               .summary = "Print the completion script for bash",
                                               .run = run_bash,
                                               .examples = kBashExamples,
                                               .cluster = ClusterUse::None};

constinit const Command kCompletionZshCommand{.path = "completion zsh",
                                              .summary = "Print the completion script for zsh",
                                              .run = run_zsh,
                                              .examples = kZshExamples,
                                              .cluster = ClusterUse::None};

constinit const Command kCompletionFishCommand{.path = "completion fish",
                                               .summary = "Print the completion script for fish",
                                               .run = run_fish,
                                               .examples = kFishExamples,
                                               .cluster = ClusterUse::None};

// The command that the scripts run.
constinit const Command kCompleteCommand{.path = "__complete",
                                         .summary = "Complete a command line",
                                         .run = run_complete,
                                         .arguments = kCompleteArguments,
                                         .flags = kCompleteGroups,
                                         .hidden = true};

}  // namespace mist::cli
