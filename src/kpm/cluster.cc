#include "kpm/cluster.h"

namespace mist::kpm {

Result<std::vector<Installed>> installed_packages(release::Store& store, const std::string& ns,
                                                  const Context& context) {
  auto anchors = store.list_anchors({}, context);
  if (!anchors.ok() && anchors.error().kind == ErrorKind::Forbidden)
    anchors = store.list_anchors(ns, context);
  if (!anchors.ok()) return std::move(anchors).error();
  std::vector<Installed> installed;
  for (const release::Anchor& listed : *anchors) {
    if (listed.head.deployed < 0) continue;
    const auto anchor = store.read_anchor(listed.id, context);
    if (!anchor.ok() && anchor.error().kind == ErrorKind::Cancelled) return anchor.error();
    if (!anchor.ok() || !*anchor || (*anchor)->head.deployed < 0) continue;
    const auto revision = store.read_revision(**anchor, (*anchor)->head.deployed, context);
    if (!revision.ok() && revision.error().kind == ErrorKind::Cancelled) return revision.error();
    if (revision.ok() && *revision)
      installed.push_back({(*revision)->package.name, (*revision)->package.version});
  }
  return installed;
}

}  // namespace mist::kpm
