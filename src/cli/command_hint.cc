#include "cli/command_hint.h"

#include "kube/connect.h"
#include "release/command_text.h"

namespace mist::cli {

std::string cluster_words(const Invocation& invocation) {
  const auto given = [&](std::string_view flag) {
    return invocation.has(flag) ? invocation.text(flag) : std::string();
  };
  return kube::cluster_words(given("context"), given("kubeconfig"));
}

std::string command_hint(const Invocation& invocation, std::string_view verb, const release::ReleaseId& id,
                         std::string_view flags) {
  return release::command_text(
      verb, {id.ns, id.name, cluster_words(invocation), std::string(invocation.called_as())}, flags);
}

}  // namespace mist::cli
