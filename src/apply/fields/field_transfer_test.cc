#include "apply/fields/field_transfer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apply/reserved_metadata.h"
#include "encoding/json.h"
#include "testing/yaml.h"

namespace mist::apply {
namespace {

using testing::yaml;

// As a backup was restored: one manager wrote all of it.
const char* const kRestored = R"(
metadata:
  annotations: {mistletoe.dev/release: shop/web, controllers: note}
  labels: {mistletoe.dev/tied-to-install-version: v3}
  managedFields:
  - manager: velero-server
    operation: Update
    apiVersion: apps/v1
    fieldsV1:
      "f:metadata":
        "f:annotations": {".": {}, "f:mistletoe.dev/release": {}, "f:controllers": {}}
        "f:labels": {".": {}, "f:mistletoe.dev/tied-to-install-version": {}}
      "f:spec":
        "f:replicas": {}
        "f:hostNetwork": {}
        "f:containers":
          ".": {}
          "k:{\"name\":\"main\"}": {".": {}, "f:name": {}, "f:image": {}, "f:pullPolicy": {}}
          "k:{\"name\":\"debug\"}": {".": {}, "f:name": {}, "f:image": {}, "f:pullPolicy": {}}
          "k:{\"name\":\"injected\"}": {".": {}, "f:name": {}}
        "f:finalizers": {"v:\"ours\"": {}, "v:\"theirs\"": {}}
  - manager: kubectl-edit
    operation: Update
    apiVersion: apps/v1
    fieldsV1: {"f:spec": {"f:paused": {}}}
)";

const char* const kRecorded = R"(
metadata: {annotations: {mistletoe.dev/release: shop/web}}
spec: {hostNetwork: true, finalizers: [ours], containers: [{name: main, image: a}, {name: debug, image: b}]}
)";
const char* const kWanted = R"(
metadata: {annotations: {mistletoe.dev/release: shop/web}}
spec: {containers: [{name: main, image: b}]}
)";

TEST(FieldTransfer, OfACopyTakesWhatIsWantedAndAllOfWhatWasRecorded) {
  const Value live = yaml(kRestored), recorded = yaml(kRecorded), wanted = yaml(kWanted);
  EXPECT_TRUE(is_copy(live, "mistctl"));
  const auto transfer = field_transfer(wanted, live, copied_of(wanted, {&recorded}), "mistctl");
  ASSERT_TRUE(transfer);
  EXPECT_EQ(managers_words(*transfer), "velero-server");
  EXPECT_TRUE(transfer->copied);
  EXPECT_EQ(encoding::to_json(transfer->fields), encoding::to_json(yaml(R"(
"f:metadata":
  "f:annotations": {".": {}, "f:mistletoe.dev/release": {}}
  "f:labels": {".": {}, "f:mistletoe.dev/tied-to-install-version": {}}
"f:spec":
  "f:hostNetwork": {}
  "f:containers":
    ".": {}
    "k:{\"name\":\"main\"}": {".": {}, "f:name": {}, "f:image": {}}
    "k:{\"name\":\"debug\"}": {".": {}, "f:name": {}, "f:image": {}, "f:pullPolicy": {}}
  "f:finalizers": {"v:\"ours\"": {}}
)")));
  // The fields that the copier keeps, the editor's as before, and ours.
  const Value::Array& entries = transfer->managed_fields.as_array();
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(encoding::to_json(*entries[0].find("fieldsV1")), encoding::to_json(yaml(R"(
"f:metadata": {"f:annotations": {"f:controllers": {}}}
"f:spec":
  "f:replicas": {}
  "f:containers":
    "k:{\"name\":\"main\"}": {"f:pullPolicy": {}}
    "k:{\"name\":\"injected\"}": {".": {}, "f:name": {}}
  "f:finalizers": {"v:\"theirs\"": {}}
)")));
  EXPECT_EQ(entries[1].string_at("manager"), "kubectl-edit");
  EXPECT_EQ(entries[2].string_at("manager"), "mistctl");
  EXPECT_EQ(entries[2].string_at("operation"), "Apply");
}

TEST(FieldTransfer, OfACopyIsCarriedOutAsItWasPlanned) {
  const Value live = yaml(kRestored), recorded = yaml(kRecorded), wanted = yaml(kWanted);
  const auto planned = field_transfer(wanted, live, copied_of(wanted, {&recorded}), "mistctl");
  const auto later = field_transfer(wanted, live, fields_of(*planned), "mistctl");
  ASSERT_TRUE(later);
  EXPECT_EQ(later->fields, planned->fields);
  EXPECT_EQ(later->managed_fields, planned->managed_fields);
  // Afterwards it is no copy any more.
  EXPECT_FALSE(is_copy(with_transfer(live, *planned), "mistctl"));
}

TEST(FieldTransfer, TakesNothingOfThoseWhoDidNotWriteOurMark) {
  const Value live = yaml(R"(
metadata:
  managedFields:
  - {manager: kubectl-edit, operation: Update, fieldsV1: {"f:spec": {"f:replicas": {}}}}
  - {manager: mistctl, operation: Apply, fieldsV1: {"f:metadata": {"f:annotations": {"f:mistletoe.dev/release": {}}}}}
)");
  const Value wanted = yaml("{spec: {replicas: 1}}");
  EXPECT_FALSE(is_copy(live, "mistctl"));
  EXPECT_FALSE(field_transfer(wanted, live, copied_of(wanted, {}), "mistctl"));
}

TEST(FieldTransfer, ReadsNonsenseWithoutHarm) {
  const Value wanted = yaml("{spec: {a: [1]}}");
  for (const char* text :
       {"{metadata: {managedFields: [{manager: x, operation: Update, fieldsV1: "
        "{\"f:metadata\": {\"f:annotations\": "
        "{\"f:mistletoe.dev/release\": {}}}, \"f:spec\": {\"f:a\": {\"k:{\": {}, \"v:\": "
        "{}, k: {}, \"\": {}, "
        "\"i:7\": {}, \"k:[1]\": {}}}}}]}}",
        "{metadata: {managedFields: [{manager: x, operation: Update, fieldsV1: {\"f:metadata\": "
        "{\"f:annotations\": {\"f:mistletoe.dev/release\": {}}}, \"f:spec\": 5, \"f:a\": [1]}}]}, spec: "
        "{a: [1]}}",
        "{metadata: {managedFields: [{fieldsV1: [1]}, 3]}}", "{metadata: 1}", "{}"})
    (void)field_transfer(wanted, yaml(text), copied_of(wanted, {&wanted}), "mistctl");
}

}  // namespace
}  // namespace mist::apply
