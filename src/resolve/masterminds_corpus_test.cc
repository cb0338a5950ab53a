// Compares ranges with Masterminds/semver, by which Helm chooses charts, on the corpus that
// tests/conformance/semver made.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>

#include "encoding/json.h"
#include "resolve/range.h"
#include "testing/source_dir.h"

namespace mist::resolve {
namespace {

using encoding::Value;

/// Where we differ on purpose; each must still occur.
struct Difference {
  const char* ranges;  // a regular expression
  std::string_view reason;
};
const Difference kDifferences[] = {
    {R"((^|.*[ ,])([<>=!^]+|[^ ]+ +- +)[*xX].*)",
     "a comparison with a wildcard: Masterminds documents ^* as any and takes it for ^0.0.0; >* and !=* have "
     "nothing, <=* has everything"},
    {R"(\* - .*)", "0.0.0-0 comes before the >=0.0.0 that Masterminds makes of the wildcard"},
    {R"(.*1\.x\.3)", "a number after a wildcard: Masterminds drops it"},
    {R"(.*01\.2\.3)", "SemVer 2 has no leading zeros"},
    {R"(~>?0\.0\.0)", "Masterminds takes it for any version"},
    {R"(\^1, ?| ?)", "nothing is any version, and a comma at the end does no harm"},
    {R"(!=1\.2(-0| .*))", "a prerelease of 1.2.3 is a 1.2"},
};

std::string versions_in(const VersionRange& range, const std::vector<Version>& versions) {
  std::string in;
  for (const Version& each : versions) in += range.contains(each) ? '1' : '0';
  return in;
}

TEST(MastermindsCorpus, EveryRangeMeansTheSame) {
  std::ifstream file(testing::source_dir() / "tests/conformance/semver/corpus.jsonl");
  std::vector<Version> versions;
  std::size_t compared = 0;
  std::set<std::string_view> seen;
  for (std::string line; std::getline(file, line);) {
    const Value record = *encoding::parse_json(line);
    if (const Value* all = record.find("versions")) {
      for (const Value& each : all->as_array()) versions.push_back(*Version::parse(each.as_string()));
      continue;
    }
    const std::string text(record.string_at("range"));
    const auto ours = VersionRange::parse(text, Prereleases::AsHelm);
    const bool theirs_failed = record.find("error") != nullptr;
    const std::string in = ours.ok() ? versions_in(*ours, versions) : "error";
    const std::string expected = theirs_failed ? "error" : std::string(record.string_at("in"));
    ++compared;
    if (in == expected) continue;
    const auto difference = std::ranges::find_if(kDifferences, [&](const Difference& each) {
      return std::regex_match(text, std::regex(each.ranges));
    });
    if (difference != std::ranges::end(kDifferences)) {
      seen.insert(difference->reason);
      continue;
    }
    std::string where;
    for (std::size_t i = 0; i < versions.size() && in.size() == expected.size() && in != "error"; ++i)
      if (in[i] != expected[i]) where += (in[i] == '1' ? " +" : " -") + versions[i].to_string();
    EXPECT_EQ(in, expected) << "\"" << text << "\"" << where;
  }
  EXPECT_GT(compared, 1000);
  for (const Difference& each : kDifferences)
    EXPECT_TRUE(seen.contains(each.reason)) << each.ranges << " doesn't differ any more: " << each.reason;
}

}  // namespace
}  // namespace mist::resolve
