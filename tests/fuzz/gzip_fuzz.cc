// gzip: no bytes unpack to more than the limit, and what was unpacked packs and unpacks to the same.
#include "encoding/gzip.h"

#include "targets.h"

namespace mist::fuzz {

void gzip(std::string_view bytes) {
  constexpr std::size_t kLimit = std::size_t{1} << 18;
  const auto text = encoding::gunzip(bytes, kLimit);
  if (!text.ok()) return check_error(text.error());
  if (text->size() > kLimit) fail("more than the limit", "");
  const auto packed = encoding::gzip(*text);
  if (!packed.ok()) fail("it can't be packed", packed.error().to_line());
  const auto again = encoding::gunzip(*packed, text->size());
  if (!again.ok() || *again != *text) fail("it unpacks to something else", "");
}

}  // namespace mist::fuzz
