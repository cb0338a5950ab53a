// cbor: what is skipped lies within the input, a shorter input is never skipped further, and an item that is
// read by its kind ends where skipping it does.
#include "encoding/cbor.h"

#include <optional>

#include "targets.h"

namespace mist::fuzz {
namespace {

// Reads an item by its kind; nullopt: it is none that has a function of its own.
std::optional<std::size_t> end_of_plain_item(std::string_view bytes) {
  encoding::CborReader reader(bytes);
  if (reader.integer().ok() || reader.bytes().ok() || reader.text().ok()) return reader.offset();
  if (reader.offset() != 0) fail("a refused item was read", "");
  return std::nullopt;
}

}  // namespace

void cbor(std::string_view bytes) {
  encoding::CborReader reader(bytes);
  while (!reader.at_end()) {
    const std::size_t began = reader.offset();
    const std::string_view rest = bytes.substr(began);
    const Status skipped = reader.skip();
    if (!skipped.ok()) {
      if (reader.offset() != began) fail("a refused item was skipped", "");
      return check_error(skipped.error());
    }
    if (reader.offset() <= began || reader.offset() > bytes.size()) fail("skipped to nowhere", "");
    const std::size_t length = reader.offset() - began;
    if (const auto end = end_of_plain_item(rest); end && *end != length) fail("read and skipped differ", "");
    encoding::CborReader cut(rest.substr(0, length - 1));
    if (cut.skip().ok()) fail("an item that is cut off was skipped", "");
    for (const auto& count : {encoding::CborReader(rest).array(), encoding::CborReader(rest).map()})
      if (count.ok() && *count > rest.size()) fail("more items than bytes", "");
  }
  if (!reader.end().ok()) fail("the end is no end", "");
}

}  // namespace mist::fuzz
