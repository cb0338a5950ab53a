#include "apimachinery/name_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mist::apimachinery {
namespace {

using encoding::Value;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Object object(std::string_view version, std::string_view kind, std::string_view ns, std::string_view name) {
  Value metadata = Value::object({{"name", std::string(name)}});
  if (!ns.empty()) metadata.set("namespace", std::string(ns));
  return *Object::from_value(Value::object({{"apiVersion", std::string(version)},
                                            {"kind", std::string(kind)},
                                            {"metadata", std::move(metadata)}}));
}

TEST(NameIndex, FindsByWhatIsKnown) {
  NameIndex index;
  index.add(object("v1", "Service", "shop", "db"), 0);
  index.add(object("serving.knative.dev/v1", "Service", "shop", "db"), 1);
  index.add(object("v1", "Service", "other", "db"), 2);
  index.add(object("v1", "Namespace", "", "shop"), 3);
  EXPECT_THAT(index.find({"service", "db"}), ElementsAre(0, 1)) << "two are enough";
  EXPECT_THAT(index.find({"SERVICE", "db", "", "shop"}), ElementsAre(0));
  EXPECT_THAT(index.find({"Service", "db", "serving.knative.dev"}), ElementsAre(1));
  EXPECT_THAT(index.find({"Service", "db", std::nullopt, "other"}), ElementsAre(2));
  EXPECT_THAT(index.find({"Namespace", "shop", std::nullopt, ""}), ElementsAre(3));
  EXPECT_THAT(index.find({"Service", "db", std::nullopt, ""}), IsEmpty());
  EXPECT_THAT(index.find({"Service", "shop"}), IsEmpty());
}

}  // namespace
}  // namespace mist::apimachinery
