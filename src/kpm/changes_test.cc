#include "kpm/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mist::kpm {
namespace {

using registry::PackageTree;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> told(const PackageTree& before, const PackageTree& after) {
  std::vector<std::string> lines;
  for (const FileChange& each : changes_between(before, after, 3)) {
    lines.push_back(std::string(to_string(each.kind)) + " " + each.path + (each.is_binary ? ", binary" : ""));
    lines.insert(lines.end(), each.lines.begin(), each.lines.end());
  }
  return lines;
}

TEST(Changes, AreTheFilesThatDifferByPath) {
  const PackageTree before{{{"K3.yaml", "a\n"}, {"b", "1\n2\n"}, {"d", "x\n"}, {"same", "s"}}};
  const PackageTree after{{{"K3.yaml", "a\n"}, {"b", "1\n3\n"}, {"c", "new\n"}, {"same", "s"}}};
  EXPECT_THAT(told(before, after),
              ElementsAre("changed b", "@@ -1,2 +1,2 @@", " 1", "-2", "+3", "added c", "@@ -0,0 +1,1 @@",
                          "+new", "removed d", "@@ -1,1 +0,0 @@", "-x"));
  EXPECT_THAT(told(before, before), IsEmpty());
  EXPECT_THAT(told({}, {{{"z", ""}}}), ElementsAre("added z"));
}

TEST(Changes, CountTheLastByte) {
  EXPECT_THAT(told({{{"a", "1\n"}}}, {{{"a", "1"}}}),
              ElementsAre("changed a", "@@ -1,1 +1,1 @@", "-1", "+1", "\\ No newline at end of file"));
  EXPECT_THAT(told({{{"a", ""}}}, {{{"a", "\n"}}}), ElementsAre("changed a", "@@ -0,0 +1,1 @@", "+"));
}

TEST(Changes, NameFilesThatAreNoText) {
  const std::string zero("a\0b", 3);
  EXPECT_THAT(told({{{"a.png", zero}}}, {{{"a.png", "text"}}}), ElementsAre("changed a.png, binary"));
  EXPECT_THAT(told({}, {{{"a.png", "\xff"}}}), ElementsAre("added a.png, binary"));
}

TEST(Changes, LeaveOutHiddenFilesThatNoWorkingCopyGets) {
  EXPECT_THAT(told({{{".envrc", "x"}, {"a", "1"}}}, {{{"a", "1"}}}), IsEmpty());
  EXPECT_THAT(told({}, {{{".envrc", ""}}}), ElementsAre("added .envrc"));
}

}  // namespace
}  // namespace mist::kpm
