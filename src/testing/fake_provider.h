#pragma once
// A registry in memory for the version solver, and short forms of what its tests write often. One thread.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "resolve/solver.h"

namespace mist::testing {

using resolve::Candidate;
using resolve::Requirement;
using resolve::Version;
using resolve::VersionRange;

inline Version version_of(std::string_view text) {
  const auto parsed = Version::parse(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? *parsed : Version{};
}

inline VersionRange range_of(std::string_view text) {
  const auto parsed = VersionRange::parse(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? *parsed : VersionRange::none();
}

/// {"foo", "^1.0.0"}.
using Needs = std::vector<std::pair<std::string, std::string>>;

inline std::vector<Requirement> requirements(const Needs& needs) {
  std::vector<Requirement> result;
  for (const auto& [package, range] : needs) result.push_back({package, range_of(range)});
  return result;
}

class FakeProvider final : public resolve::Provider {
 public:
  struct Release {
    Version version;
    std::vector<Requirement> needs;
    bool yanked = false;
  };

  FakeProvider& add(const std::string& package, std::string_view version, const Needs& needs = {}) {
    releases[package].push_back({version_of(version), requirements(needs)});
    return *this;
  }
  FakeProvider& yank(const std::string& package, std::string_view version) {
    for (Release& each : releases[package])
      if (each.version == version_of(version)) each.yanked = true;
    return *this;
  }

  Result<std::vector<Candidate>> versions(const std::string& package) override {
    ++listed[package];
    const auto found = releases.find(package);
    if (found == releases.end())
      return error(ErrorKind::NotFound, "there is no package {} in the registry", package);
    std::vector<Candidate> result;
    for (const Release& each : found->second) result.push_back({each.version, each.yanked});
    return result;
  }
  Result<std::vector<Requirement>> dependencies(const std::string& package, const Version& version) override {
    ++read[package + " " + version.to_string()];
    for (const Release& each : releases[package])
      if (each.version == version && each.version.build == version.build) return each.needs;
    return error(ErrorKind::NotFound, "there is no version {} of {}", version.to_string(), package);
  }

  std::map<std::string, std::vector<Release>> releases;
  std::map<std::string, int> listed;  ///< how often each was asked for
  std::map<std::string, int> read;
};

}  // namespace mist::testing
