#include "apply/fields/field_place.h"

#include <gtest/gtest.h>

#include "encoding/yaml.h"
#include "kube/api_failure.h"
#include "testing/api_refusal.h"

namespace mist::apply {
namespace {

using apimachinery::Object;
using apimachinery::RenderedObject;

RenderedObject deployment() {
  auto value = encoding::parse_yaml(
      "apiVersion: apps/v1\n"
      "kind: Deployment\n"
      "metadata:\n"
      "  name: web\n"
      "  annotations: {a: b,\n"
      "    c.d/e: f}\n"
      "spec:\n"
      "  replicas: x\n"
      "  template:\n"
      "    spec:\n"
      "      containers:\n"
      "      - name: one\n"
      "        image: a\n"
      "      - name: two\n"
      "        image: b\n"
      "        ports:\n"
      "        - containerPort: 80\n"
      "          protocol: TCP\n"
      "        - containerPort: 81\n"
      "          protocol: TCP\n");
  return {*Object::from_value(*std::move(value)), "web/templates/a.yaml", 1, "templates/a.yaml"};
}

TEST(FieldPlace, FindsAFieldInBothNotationsOfServers) {
  const RenderedObject rendered = deployment();
  const auto line = [&](std::string_view path) {
    return value_on_path(rendered.object.value(), path).position().line;
  };
  EXPECT_EQ(line("spec.replicas"), 8u);
  EXPECT_EQ(line(".spec.replicas"), 8u);
  EXPECT_EQ(line("metadata.annotations[c.d/e]"), 6u);
  EXPECT_EQ(line("spec.template.spec.containers[1].image"), 15u);
  EXPECT_EQ(line(".spec.template.spec.containers[name=\"two\"].image"), 15u);
  EXPECT_EQ(line(".spec.template.spec.containers[name=\"two\"].ports[containerPort=81,protocol=\"TCP\"]"),
            19u);
  // A missing field is at its deepest existing parent.
  EXPECT_EQ(line("spec.template.spec.containers[1].ports[7].hostPort"), 16u);
  EXPECT_EQ(line("spec.replicas.a[b"), 8u);
}

TEST(FieldPlace, AnErrorIsAtTheFieldThatTheServerNames) {
  const RenderedObject rendered = deployment();
  const Error named = testing::api_refusal(ErrorKind::Invalid, "cannot apply", "it is wrong",
                                           {{"FieldValueInvalid", "spec.template.spec.containers[0].image"}});
  EXPECT_TRUE(kube::names_invalid_fields(named));
  EXPECT_EQ(at_refused_field(named, rendered).where->text(), "templates/a.yaml:13:16");
  const Error typed = testing::api_refusal(
      ErrorKind::Invalid, "cannot apply",
      "failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): .spec.replicas: expected "
      "numeric (int or float), got string");
  EXPECT_EQ(at_refused_field(typed, rendered).where->text(), "templates/a.yaml:8:13");
  EXPECT_EQ(at_refused_field(error(ErrorKind::Invalid, "no"), rendered).where->text(), "templates/a.yaml:1");
}

}  // namespace
}  // namespace mist::apply
