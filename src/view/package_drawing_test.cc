#include "view/package_drawing.h"

#include <gtest/gtest.h>

#include "encoding/json.h"

namespace mist::view {
namespace {

using action::PackageGraph;
using release::PackageCall;
using release::PackageInstall;

// a and b call one database, b and c one cache; calls are recorded when they have been answered.
PackageGraph shop() {
  const PackageInstall own{}, a{"m/a", "shop-a"}, b{"m/b", "shop-b"}, c{"m/c", "shop-c"},
      db{"m/db", "shop-db"}, cache{"m/cache", "shop-cache"};
  release::PackageInfo package{.reference = "m/platform:1.0.0",
                               .name = "platform",
                               .version = "1.0.0",
                               .digest = "sha256:1",
                               .calls = {{"m/db", "5.1.0", "sha256:5"}}};
  package.call_tree = {PackageCall{a, "store", db, "5.1.0"}, PackageCall{own, "a", a, "1.0.0"},
                       PackageCall{b, "store", db, "5.1.0"}, PackageCall{b, "cache", cache, ""},
                       PackageCall{own, "b", b, "1.1.0"},    PackageCall{c, "cache", cache, ""},
                       PackageCall{own, "c", c, "1.2.0"}};
  return action::package_graph({"n", "shop"}, 3, package);
}

TEST(PackageDrawing, EachPackageStandsBelowAllThatCallIt) {
  EXPECT_EQ(package_graph_text(shop(), false), R"(shop: its package and 5 others that are called

platform 1.0.0
├─ a: m/a 1.0.0 as shop-a
│  └─ store: m/db 5.1.0 as shop-db
├─ b: m/b 1.1.0 as shop-b
│  ├─ store: m/db 5.1.0 as shop-db
│  └─ cache: m/cache as shop-cache
└─ c: m/c 1.2.0 as shop-c
   └─ cache: m/cache as shop-cache
)");
}

TEST(PackageDrawing, WhatACommonPackageCallsIsDrawnOnce) {
  const PackageInstall own{}, a{"m/a", "a"}, b{"m/b", "b"}, shared{"m/shared", "s"}, below{"m/below", "z"};
  release::PackageInfo package{.reference = "./p", .name = "p", .version = "", .digest = ""};
  package.call_tree = {PackageCall{shared, "x", below, "1"}, PackageCall{a, "s", shared, "1"},
                       PackageCall{own, "a", a, "1"}, PackageCall{b, "s", shared, "1"},
                       PackageCall{own, "b", b, "1"}};
  EXPECT_EQ(package_graph_text(action::package_graph({"n", "r"}, -1, package), false),
            R"(r: its package and 4 others that are called

p
├─ a: m/a 1 as a
│  └─ s: m/shared 1 as s
│     └─ x: m/below 1 as z
└─ b: m/b 1 as b
   └─ s: m/shared 1 as s (see above)
)");
}

TEST(PackageDrawing, TheOthersNameEveryPackageOnce) {
  const PackageGraph graph = shop();
  EXPECT_EQ(graph.packages.size(), 6U);
  EXPECT_EQ(graph.packages[2].digest, "sha256:5");
  const std::string dot = package_graph_dot(graph);
  EXPECT_NE(dot.find(R"(p0 [label="platform 1.0.0\nshop"])"), std::string::npos) << dot;
  EXPECT_NE(dot.find(R"(p1 -> p2 [label="store"])"), std::string::npos) << dot;
  const std::string mermaid = package_graph_mermaid(graph);
  EXPECT_NE(mermaid.find("flowchart LR"), std::string::npos);
  EXPECT_NE(mermaid.find(R"(p1 -->|"store"| p2)"), std::string::npos) << mermaid;
  const encoding::Value value = package_graph_value(graph);
  EXPECT_EQ(value.find("packages")->as_array().size(), 6U);
  EXPECT_EQ(value.find("calls")->as_array().size(), 7U);
}

TEST(PackageDrawing, OfAPackageThatCallsNone) {
  const release::PackageInfo package{.reference = "./p", .name = "p", .version = "", .digest = ""};
  EXPECT_EQ(package_graph_text(action::package_graph({"n", "r"}, -1, package), false),
            "r: its package calls no other\n\np\n");
}

}  // namespace
}  // namespace mist::view
