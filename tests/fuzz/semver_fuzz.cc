// Versions: exactly those of semver.org are read, print to themselves, and are in one order; tags of
// registries.
#include "encoding/semver.h"

#include "oci/tags.h"
#include "registry/version_order.h"
#include "targets.h"

namespace mist::fuzz {

void semver(std::string_view bytes) {
  using encoding::SemVer;
  Input input(bytes);
  const std::string_view one = input.line(), two = input.line();
  const auto a = SemVer::parse(one);
  if (a.ok() && a->to_string() != one) fail("the printed form is another", a->to_string());
  if (!a.ok()) check_error(a.error());
  const auto lenient = SemVer::parse_lenient(one);
  if (a.ok() && (!lenient.ok() || *lenient != *a)) fail("read leniently it is another", one);
  if (const auto b = SemVer::parse_lenient(two); lenient.ok() && b.ok()) {
    const auto order = *lenient <=> *b;
    if ((order < 0) != ((*b <=> *lenient) > 0)) fail("the order isn't one", bytes);
    if (const auto next = b->next_release(); next && !(*next > *b)) fail("the next release isn't", two);
  }
  const auto range = encoding::SemVerRange::parse(two);
  if (range.ok()) {
    if (lenient.ok()) (void)range->contains(*lenient), (void)range->contains_as_helm(*lenient);
    const std::string tags[] = {std::string(one), "1.0.0", "2.0.0-rc.1"};
    if (const auto newest = oci::newest_in(*range, tags); newest && newest->empty())
      fail("a tag without text", two);
    (void)oci::newest_first(tags);
  }
  if (oci::version_of_tag(oci::tag_of_version(one)) != one && a.ok())
    fail("a tag that means another version", one);
  if ((registry::compare_versions(one, two) < 0) != (registry::compare_versions(two, one) > 0))
    fail("the order of versions isn't one", bytes);
}

}  // namespace mist::fuzz
