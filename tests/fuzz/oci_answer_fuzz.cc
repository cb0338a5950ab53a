// What registries and token servers answer beside manifests: errors, tags, links, tokens, challenges.
#include "oci/answers.h"

#include "base/text.h"
#include "oci/challenge.h"
#include "oci/tags.h"
#include "targets.h"

namespace mist::fuzz {

void oci_answer(std::string_view bytes) {
  using namespace oci;
  if (const std::string words = words_of(bytes); escape_controls(words) != words)
    fail("words that steer the terminal", words);
  if (const auto tags = parse_tags(bytes); tags.ok()) {
    for (const std::string& tag : *tags)
      if (escape_controls(tag) != tag) fail("a tag that steers the terminal", tag);
  } else {
    check_error(tags.error());
  }
  (void)next_page(bytes);
  if (const auto token = parse_token(bytes); !token.ok()) check_error(token.error());
  for (const Challenge& challenge : parse_challenges(bytes))
    if (challenge.realm.size() > bytes.size()) fail("a realm from nowhere", challenge.realm);
}

}  // namespace mist::fuzz
