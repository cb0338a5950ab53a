#include "kpm/cluster.h"

namespace mist::kpm {
namespace {

// Somebody has to look at that release: reading it once more wouldn't help. Any other failure is of the
// cluster, or of the way there.
bool is_of_record(const Error& failure) {
  return failure.kind == ErrorKind::Forbidden || failure.kind == ErrorKind::Internal ||
         failure.kind == ErrorKind::Invalid;
}

Error lost(const release::ReleaseId& id, std::string_view what) {
  return error(ErrorKind::Internal, "the record of release {} is damaged: {}", id.display(), what);
}

// Nothing: it isn't installed.
Result<std::optional<Installed>> package_of(release::Store& store, const release::ReleaseId& id,
                                            const Context& context) {
  MIST_TRY(const std::optional<release::Anchor> anchor, store.read_anchor(id, context));
  if (!anchor) return std::optional<Installed>();
  if (anchor->head_lost) return lost(id, "it doesn't say what is deployed");
  const int deployed = anchor->head.deployed;
  if (deployed < 0) return std::optional<Installed>();
  MIST_TRY(const std::optional<release::Revision> revision, store.read_revision(*anchor, deployed, context));
  // Somebody is at work there: an uninstall deletes revisions before the anchor.
  if (!revision && anchor->lock) return std::optional<Installed>();
  if (!revision) return lost(id, fmt::format("its revision {} is missing", deployed));
  return std::optional(Installed{revision->package.name, revision->package.version});
}

}  // namespace

bool may_be_of(const Unreadable& unreadable, std::string_view package) {
  return unreadable.release.name.find(package) != std::string::npos ||
         unreadable.reference.find(package) != std::string::npos;
}

Result<InstalledPackages> installed_packages(release::Store& store, const std::string& ns,
                                             const Context& context) {
  auto anchors = store.list_anchors({}, context);
  if (!anchors.ok() && anchors.error().kind == ErrorKind::Forbidden)
    anchors = store.list_anchors(ns, context);
  if (!anchors.ok()) return std::move(anchors).error();
  InstalledPackages installed;
  for (const release::Anchor& listed : *anchors) {
    if (listed.head.deployed < 0 && !listed.head_lost) continue;
    auto found = package_of(store, listed.id, context);
    if (!found.ok() && !is_of_record(found.error())) return std::move(found).error();
    if (!found.ok())
      installed.unreadable.push_back({listed.id, listed.head.package, std::move(found).error()});
    else if (*found)
      installed.packages.push_back(**std::move(found));
  }
  return installed;
}

}  // namespace mist::kpm
