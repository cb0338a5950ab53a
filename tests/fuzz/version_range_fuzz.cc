// Version ranges: any text is one or a good error; as a set it has what the written range has, and obeys the
// laws of sets.
#include <array>
#include <string>

#include "resolve/range.h"
#include "targets.h"

namespace mist::fuzz {
namespace {

const std::array<const char*, 10> kVersions = {"0.0.0-0", "0.0.0",      "0.3.1",      "1.0.0-rc.1", "1.0.0",
                                               "1.2.3",   "1.2.3-rc.1", "1.2.3-rc.2", "1.10.0",     "2.0.0"};

void check_range(std::string_view text, resolve::Prereleases prereleases) {
  using namespace resolve;
  const auto range = VersionRange::parse(text, prereleases);
  if (!range.ok()) {
    if (range.error().message.empty() || range.error().hint.empty())
      fail("an error without message or hint", range.error().to_line());
    return;
  }
  const auto written = encoding::SemVerRange::parse(text);
  for (const char* each : kVersions) {
    const Version version = *Version::parse(each);
    const bool in =
        prereleases == Prereleases::AsHelm ? written->contains_as_helm(version) : written->contains(version);
    if (range->contains(version) != in) fail("the set differs from the range", text);
    if (range->complement().contains(version) == in) fail("the complement has it too", text);
  }
  if (range->complement().complement() != *range) fail("not the complement's complement", text);
  if (!(*range & range->complement()).is_empty()) fail("it meets its complement", text);
  if ((*range | range->complement()) != VersionRange::any()) fail("something is missing", text);
  const VersionRange releases = *range & *VersionRange::parse("*");
  if (releases.is_empty() || releases.to_string().size() > encoding::SemVerRange::kLongest) return;
  const auto again = VersionRange::parse(releases.to_string());
  if (!again.ok() || *again != releases) fail("the printed form means something else", releases.to_string());
}

}  // namespace

void version_range(std::string_view bytes) {
  check_range(bytes, resolve::Prereleases::SameNumbers);
  check_range(bytes, resolve::Prereleases::AsHelm);
}

}  // namespace mist::fuzz
