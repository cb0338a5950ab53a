#include "reconcile/ownership.h"

#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::reconcile {
namespace {

using testing::yaml;

TEST(OwnershipTest, ItsFinalizerGoesAndThoseOfOthersStay) {
  Value object = yaml("{metadata: {name: a, finalizers: [example.com/hold, mistletoe.dev/operator]}}");
  take_finalizer_off(object);
  EXPECT_EQ(object, yaml("{metadata: {name: a, finalizers: [example.com/hold]}}"));
  object = yaml("{metadata: {name: a, finalizers: [mistletoe.dev/operator]}}");
  take_finalizer_off(object);
  EXPECT_EQ(object, yaml("{metadata: {name: a}}"));
  take_finalizer_off(object);
  EXPECT_EQ(object, yaml("{metadata: {name: a}}"));
}

// With the finalizer alone nobody could delete it, and nothing would ever remove that.
TEST(OwnershipTest, AllMarksGoAndTheFinalizerWithThem) {
  Value object = yaml(
      "{metadata: {name: a, finalizers: [mistletoe.dev/operator], labels: {mistletoe.dev/instance-uid: u1, "
      "app: web}, annotations: {mistletoe.dev/instance-uid: u1, mistletoe.dev/applied: h, note: x}}}");
  remove_ownership(object);
  EXPECT_EQ(object, yaml("{metadata: {name: a, labels: {app: web}, annotations: {note: x}}}"));
}

}  // namespace
}  // namespace mist::reconcile
