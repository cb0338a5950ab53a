#include "cli/command_hint.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "release/command_text.h"

namespace mist::cli {

std::string cluster_words(const Invocation& invocation) {
  constexpr std::array<std::string_view, 2> kFlags{"context", "kubeconfig"};
  std::string words;
  for (const std::string_view flag : kFlags)
    if (invocation.has(flag))
      words.append(" --").append(flag).append(" ").append(shell_word(invocation.text(flag)));
  return words;
}

std::string command_hint(const Invocation& invocation, std::string_view verb, const release::ReleaseId& id,
                         std::string_view flags) {
  return release::command_text(verb, {id.ns, id.name, cluster_words(invocation)}, flags);
}

}  // namespace mist::cli
