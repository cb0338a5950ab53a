#include "apply/plan/test_objects.h"

#include "apply/plan/desired.h"

namespace mist::apply {

using apimachinery::RenderedObject;

namespace {

Result<bool> is_test(const RenderedObject& rendered) {
  const Value* value = rendered.object.value().at_path({"metadata", "annotations", kTestAnnotation});
  if (value == nullptr) return false;
  if (value->is_string() && value->as_string() == "true") return true;
  if (value->is_string() && value->as_string() == "false") return false;
  return error(ErrorKind::Invalid, "the annotation {} of {} is \"true\" or \"false\", in quotes",
               kTestAnnotation, rendered.object.key().display())
      .at(rendered.place({.line = value->position().line}));
}

}  // namespace

Result<std::vector<RenderedObject>> take_tests(std::vector<RenderedObject>& objects) {
  std::vector<RenderedObject> tests, others;
  others.reserve(objects.size());
  for (RenderedObject& rendered : objects) {
    MIST_TRY(const bool test, is_test(rendered));
    if (test) MIST_TRY_VOID(check_rendered(rendered));
    (test ? tests : others).push_back(std::move(rendered));
  }
  objects = std::move(others);
  return tests;
}

Owner test_set(const Owner& release) { return {release.ns, release.name + ".test"}; }

}  // namespace mist::apply
