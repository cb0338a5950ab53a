#pragma once
// A chart of a chart repository: what a kustomization names by `repo`, `name` and `version`. The repository
// is an index.yaml and archives behind https, as Helm has them. An archive is bytes here; who unpacks it sits
// in a sandbox. Any thread.

#include <string>

#include "base/context.h"
#include "base/result.h"
#include "http/transport.h"

namespace mist::registry {

struct ChartReference {
  std::string repository;   ///< https://charts.example.com
  std::string name;         ///< "web"
  std::string version;      ///< exact or a range, by Helm's rules; empty: the newest
  bool unfinished = false;  ///< without a version: prereleases too
};

/// The archive, a .tgz with the digest that the index says. Errors: NotFound (no repository there, no such
/// chart or version, with those there are), Invalid (an index that can't be read, an archive that isn't the
/// one of the index), and those of fetch_remote_file.
Result<std::string> fetch_chart(http::Transport& transport, const ChartReference& chart,
                                const Context& context);

}  // namespace mist::registry
