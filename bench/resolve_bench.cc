// How long a resolution takes over many versions, without anything that fetches: 200 packages of ten versions
// each, where the newest of each asks for what its neighbours no longer have, so that the solver must go
// back. Prints milliseconds, the best of ten, and how many versions were selected. Usage: resolve_bench

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>

#include "resolve/solver.h"

namespace {

using namespace mist::resolve;

constexpr int kPackages = 200, kVersions = 10;

std::string name_of(int package) { return "team/package-" + std::to_string(package); }

class Universe final : public Provider {
 public:
  mist::Result<std::vector<Candidate>> versions(const std::string& /*package*/) override {
    std::vector<Candidate> all;
    for (int minor = 0; minor < kVersions; ++minor) all.push_back({*Version::parse(text(minor))});
    return all;
  }
  // 1.N of a package asks for three packages further on: for what fits, but for the newest two versions, of
  // which one asks for too much and one for too little.
  mist::Result<std::vector<Requirement>> dependencies(const std::string& package,
                                                      const Version& version) override {
    const int number = std::stoi(package.substr(package.rfind('-') + 1));
    const int minor = static_cast<int>(version.minor);
    std::vector<Requirement> all;
    for (const int step : {1, 2, 7}) {
      if (number + step >= kPackages) continue;
      std::string range = ">=1.0.0, <1." + std::to_string(std::max(minor, 2)) + ".0";
      if (minor == kVersions - 1 && step == 7) range = ">=2.0.0";
      if (minor == kVersions - 2 && step == 2) range = "<1.0.0";
      all.push_back({name_of(number + step), *VersionRange::parse(range)});
    }
    return all;
  }

 private:
  static std::string text(int minor) { return "1." + std::to_string(minor) + ".0"; }
};

}  // namespace

int main() {
  using Clock = std::chrono::steady_clock;
  double best = 0;
  std::size_t selected = 0;
  for (int round = 0; round < 10; ++round) {
    Universe universe;
    const Request request{.root = "bench", .requirements = {{name_of(0), *VersionRange::parse("^1")}}};
    const auto began = Clock::now();
    const auto found = solve(request, universe);
    const double passed = std::chrono::duration<double, std::milli>(Clock::now() - began).count();
    if (!found.ok()) {
      std::fprintf(stderr, "resolve_bench: %s\n", found.error().to_line().c_str());
      return 1;
    }
    selected = found->packages.size();
    best = round == 0 ? passed : std::min(best, passed);
  }
  std::printf("%.3f %zu\n", best, selected);
}
