#include "view/record.h"

#include "action/query/secret_data.h"
#include "view/values.h"

namespace mist::view {

using encoding::Value;

namespace {

// A Secret's data is for its readers in the cluster, not for a terminal or a log of CI.
Value masked(const apimachinery::Object& object, bool show) {
  Value value = object.value();
  if (!show) action::mask_secret_data(object.gvk().group_kind(), value);
  return value;
}

Value revision_value(const release::Revision& revision, bool show) {
  Value::Array objects;
  for (const release::RenderedObject& rendered : revision.objects)
    objects.push_back(Value::object({{"file", rendered.source_file()},
                                     {"line", rendered.line},
                                     {"package", text_or_null(rendered.package)},
                                     {"object", masked(rendered.object, show)}}));
  return Value::object(
      {{"revision", revision.number},
       {"action", revision.action},
       {"status", release::to_string(revision.status)},
       {"created", revision.created},
       {"package", Value::object({{"reference", revision.package.reference},
                                  {"name", revision.package.name},
                                  {"version", revision.package.version},
                                  {"digest", revision.package.digest},
                                  {"engine", text_or_null(revision.package.engine)},
                                  {"calls", release::to_value(revision.package.calls)},
                                  {"callTree", release::to_value(revision.package.call_tree)},
                                  {"signers", release::to_value(revision.package.signers)}})},
       {"values", revision.user_values},
       {"drawn", release::to_value(revision.drawn)},
       {"inventory", release::to_value(revision.inventory)},
       {"objects", Value(std::move(objects))}});
}

}  // namespace

Value record_value(const release::Anchor& anchor, const std::vector<release::Revision>& revisions,
                   bool show) {
  Value::Array shown;
  for (const release::Revision& revision : revisions) shown.push_back(revision_value(revision, show));
  return Value::object({{"name", anchor.id.name},
                        {"namespace", anchor.id.ns},
                        {"applySet", apply::apply_set_id(anchor.id)},
                        {"head", release::to_value(anchor.head)},
                        {"lock", anchor.lock ? release::to_value(*anchor.lock) : Value()},
                        {"frozenClock", anchor.frozen_clock},
                        {"revisions", Value(std::move(shown))}});
}

std::vector<Value> manifest(const release::Revision& revision, bool show) {
  std::vector<Value> objects;
  for (const release::RenderedObject& rendered : revision.objects)
    objects.push_back(masked(rendered.object, show));
  return objects;
}

Value manifest_value(const release::Revision& revision, bool show) {
  return Value::object({{"apiVersion", "v1"}, {"kind", "List"}, {"items", Value(manifest(revision, show))}});
}

}  // namespace mist::view
