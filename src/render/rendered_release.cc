#include "render/rendered_release.h"

#include "apply/reserved_metadata.h"

#include <set>

namespace mist::render {

namespace {

// Our ownership labels are added to recorded objects again, as to rendered ones.
release::RenderedObject without_marks(release::RenderedObject rendered) {
  encoding::Value& metadata = rendered.object.mutable_value()["metadata"];
  for (const std::string_view label : apply::kOwnershipLabels) metadata["labels"].erase(label);
  metadata["annotations"].erase(apply::kReleaseAnnotation);
  return rendered;
}

}  // namespace

Error with_line(const RenderedRelease& rendered, Error failure) {
  return rendered.show_line && failure.where ? rendered.show_line(std::move(failure)) : failure;
}

RenderedRelease recorded_release(const release::Revision& revision) {
  RenderedRelease recorded;
  recorded.package = revision.package;
  recorded.user_values = revision.user_values;
  recorded.recorded_options = RecordedOptions::from_value(revision.options);
  recorded.drawn = revision.drawn;
  recorded.lookups = recorded.recorded_options.lookups;
  recorded.answers = recorded.recorded_options.answers;
  recorded.message = revision.notes;
  for (const release::RenderedObject& object : revision.objects)
    recorded.objects.push_back(without_marks(object));
  recorded.objects.insert(recorded.objects.end(), revision.hooks.begin(), revision.hooks.end());
  for (const release::RenderedObject& test : revision.tests) {
    // A test that is a hook as well is among the hooks already.
    if (revision.package.engine != apply::kChartEngine || !apply::is_lifecycle_hook(test))
      recorded.objects.push_back(test);
  }
  return recorded;
}

RenderedRelease kept_release(const release::Revision& revision, const std::string& ns) {
  // Of a kind that came with the revision, the object doesn't say in which namespace it is.
  const auto place = [&](apimachinery::ObjectKey key) {
    if (key.ns.empty()) key.ns = ns;
    return key;
  };
  std::set<apimachinery::ObjectKey> named;
  for (const apply::InventoryItem& item : revision.inventory) named.insert(place(item.key));
  RenderedRelease recorded = recorded_release(revision);
  // Hooks and tests, which come behind the objects, aren't taken over.
  std::vector<release::RenderedObject> kept;
  for (std::size_t i = 0; i < recorded.objects.size(); ++i) {
    if (i >= revision.objects.size() || named.contains(place(recorded.objects[i].object.key())))
      kept.push_back(std::move(recorded.objects[i]));
  }
  recorded.objects = std::move(kept);
  return recorded;
}

}  // namespace mist::render
