#pragma once
// A Plan of objects as they are written, on a cluster in memory: for tests of what carries plans out.

#include <gtest/gtest.h>

#include <string_view>

#include "apply/plan/desired.h"
#include "apply/plan/observe.h"
#include "apply/plan/plan.h"
#include "encoding/yaml.h"
#include "testing/fake_cluster.h"

namespace mist::testing {

/// The plan of applying `yaml` as `id` there now, for the first time.
inline apply::Plan plan_of(FakeCluster& cluster, const apply::Owner& id, std::string_view yaml) {
  std::vector<apimachinery::RenderedObject> objects;
  auto documents = encoding::parse_yaml_documents(yaml);
  EXPECT_TRUE(documents.ok());
  for (encoding::Value& document : *documents)
    objects.push_back({*apimachinery::Object::from_value(std::move(document)), "all.yaml", 1});
  auto desired = apply::prepare(std::move(objects), id, cluster, Context());
  EXPECT_TRUE(desired.ok()) << desired.error().to_line();
  auto live = apply::observe(cluster, id, *desired, {}, Context());
  EXPECT_TRUE(live.ok());
  auto made = apply::make_plan(id, *std::move(desired), {}, *live, 0, {});
  EXPECT_TRUE(made.ok()) << made.error().to_line();
  return *std::move(made);
}

}  // namespace mist::testing
