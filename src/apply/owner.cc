#include "apply/owner.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "crypto/digest.h"

namespace mist::apply {

std::string anchor_name(const Owner& owner) { return "mistletoe." + owner.name; }

std::string apply_set_id(const Owner& owner) {
  const std::string subject = fmt::format("{}.{}.Secret.", anchor_name(owner), owner.ns);
  const auto digest = crypto::sha256(subject);
  std::string encoded =
      base64_encode({reinterpret_cast<const char*>(digest.bytes().data()), digest.bytes().size()});
  std::ranges::replace(encoded, '+', '-');
  std::ranges::replace(encoded, '/', '_');
  while (encoded.ends_with('=')) encoded.pop_back();
  return "applyset-" + encoded + "-v1";
}

}  // namespace mist::apply
