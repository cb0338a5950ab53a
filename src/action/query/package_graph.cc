#include "action/query/package_graph.h"

#include <algorithm>
#include <map>

#include "action/query/graph.h"

namespace mist::action {
namespace {

class Builder {
 public:
  Builder(PackageGraph& graph, const release::PackageInfo& package) : graph_(graph), package_(package) {}

  // A call is recorded when it has been answered, so those of a called package precede its own.
  std::size_t node(const release::PackageInstall& install, const std::string& version) {
    const auto [known, is_new] = numbers_.try_emplace(install, graph_.packages.size());
    if (is_new) graph_.packages.push_back({install.id, install.install, {}, digest_of(install.id)});
    if (!version.empty()) graph_.packages[known->second].version = version;
    return known->second;
  }

 private:
  std::string digest_of(const std::string& id) const {
    const auto found = std::ranges::find(package_.calls, id, &release::CalledPackage::id);
    return found == package_.calls.end() ? std::string() : found->digest;
  }

  PackageGraph& graph_;
  const release::PackageInfo& package_;
  std::map<release::PackageInstall, std::size_t> numbers_{{{}, 0}};
};

}  // namespace

PackageGraph package_graph(const release::ReleaseId& id, int revision, const release::PackageInfo& package) {
  PackageGraph graph{.id = id, .revision = revision, .name = package.name, .packages = {}, .calls = {}};
  graph.packages.push_back({package.reference, id.name, package.version, package.digest});
  Builder builder(graph, package);
  for (const release::PackageCall& call : package.call_tree) {
    const std::size_t caller = builder.node(call.caller, {});
    graph.calls.push_back({caller, builder.node(call.called, call.version), call.name});
  }
  std::ranges::stable_sort(graph.calls, {}, &PackageGraph::Call::caller);
  return graph;
}

Result<PackageGraph> package_graph_of_release(const Environment& environment, const release::ReleaseId& id,
                                              const Context& context) {
  MIST_TRY(const release::Revision revision, revision_to_draw(environment, id, context));
  return package_graph(id, revision.number, revision.package);
}

}  // namespace mist::action
