#include "apply/owner.h"

#include <fmt/core.h>

#include "crypto/digest.h"
#include "encoding/base64url.h"

namespace mist::apply {

std::string anchor_name(const Owner& owner) { return "mistletoe." + owner.name; }

std::string apply_set_id(const Owner& owner) {
  const std::string subject = fmt::format("{}.{}.Secret.", anchor_name(owner), owner.ns);
  return fmt::format("applyset-{}-v1", encoding::base64url_encode(crypto::sha256(subject).raw()));
}

}  // namespace mist::apply
