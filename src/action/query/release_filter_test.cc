#include "action/query/release_filter.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace mist::action {
namespace {

using release::Anchor;
using release::RevisionStatus;

Anchor anchor(std::string name, RevisionStatus status, std::string updated, std::string package = "./p") {
  Anchor anchor;
  anchor.id = {"shop", std::move(name)};
  anchor.head.status = status;
  anchor.head.updated = std::move(updated);
  anchor.head.package = std::move(package);
  return anchor;
}

const std::vector<Anchor> kAnchors{
    anchor("api", RevisionStatus::Deployed, "2026-01-02T00:00:00Z", "b"),
    anchor("api-canary", RevisionStatus::Failed, "2026-01-04T00:00:00Z", "c"),
    anchor("db", RevisionStatus::Pending, "2026-01-03T00:00:00Z", "b"),
    anchor("web", RevisionStatus::Deployed, "2026-01-01T00:00:00Z", "a"),
};

std::string names(const ReleaseFilter& filter) {
  std::vector<std::string> found;
  for (const Anchor& each : filtered(kAnchors, filter)) found.push_back(each.id.name);
  return join(found, " ");
}

TEST(ReleaseFilter, TakesNamesByPatternAndReleasesByStatus) {
  EXPECT_EQ(names({}), "api api-canary db web");
  EXPECT_EQ(names({.name = *Pattern::parse("ap")}), "api api-canary");
  EXPECT_EQ(names({.name = *Pattern::parse("^(db|api)$")}), "api db");
  EXPECT_EQ(names({.status = {RevisionStatus::Failed, RevisionStatus::Pending}}), "api-canary db");
  EXPECT_EQ(names({.name = *Pattern::parse("api"), .status = {RevisionStatus::Deployed}}), "api");
}

TEST(ReleaseFilter, SortsAndCuts) {
  EXPECT_EQ(names({.order = ReleaseOrder::Updated}), "api-canary db api web");
  EXPECT_EQ(names({.order = ReleaseOrder::Updated, .reverse = true}), "web api db api-canary");
  EXPECT_EQ(names({.order = ReleaseOrder::Status}), "api-canary db api web");
  EXPECT_EQ(names({.order = ReleaseOrder::Package}), "web api db api-canary");
  EXPECT_EQ(names({.order = ReleaseOrder::Updated, .most = 2}), "api-canary db");
}

}  // namespace
}  // namespace mist::action
