#pragma once
// Commands in hints. A release is named with its namespace always, and with the context and kubeconfig that
// the user gave: without them the command could find, and change, another release of that name. Every hint
// that names a release is built here (hint_scan_test.cc in cli/ checks it). Pure; any thread.

#include <algorithm>
#include <string>
#include <string_view>

#include "release/record.h"

namespace mist::release {

/// The commands about a release that kpm has too, under the same name and with the same flags
/// (hint_scan_test.cc checks it).
inline constexpr std::string_view kKpmVerbs[] = {"history", "list", "rollback", "status", "uninstall"};

/// "mistctl", or the program that the user called where that has the command too.
inline std::string_view program_of(std::string_view verb, const ReleaseId& id) {
  const bool has_it = id.called_as == "kpm" && std::ranges::find(kKpmVerbs, verb) != std::end(kKpmVerbs);
  return has_it ? "kpm" : "mistctl";
}

/// "mistctl recover web -n shop --context prod --undo"; `flags` may be empty.
inline std::string command_text(std::string_view verb, const ReleaseId& id, std::string_view flags = {}) {
  std::string text(program_of(verb, id));
  text.append(" ").append(verb).append(" ").append(id.name).append(" -n ").append(id.ns).append(
      id.cluster_words);
  if (!flags.empty()) text.append(" ").append(flags);
  return text;
}

/// "kubectl --context prod create namespace shop": in the cluster that `id` is looked for in. kubectl has the
/// same two flags.
inline std::string kubectl_text(const ReleaseId& id, std::string_view words) {
  return "kubectl" + id.cluster_words + " " + std::string(words);
}

/// "mistctl list -A --context prod": all releases of the cluster that `id` is looked for in.
inline std::string list_text(const ReleaseId& id) {
  return std::string(program_of("list", id)) + " list -A" + id.cluster_words;
}

}  // namespace mist::release
