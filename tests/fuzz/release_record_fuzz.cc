// Records of releases: Secrets that anybody in the namespace may have written. The first byte says what the
// rest is. Without the key nothing passes for sealed; what can be read is written and read again the same.
#include "release/record.h"

#include "crypto/digest.h"
#include "encoding/gzip.h"
#include "encoding/json.h"
#include "release/history.h"
#include "release/record_secrets.h"
#include "targets.h"

namespace mist::fuzz {
namespace {

void check_revision(const encoding::Value& value) {
  using namespace release;
  const auto revision = revision_from_value(value);
  if (!revision.ok()) return;  // Internal: somebody damaged it
  const encoding::Value written = to_value(*revision);
  const auto again = revision_from_value(written);
  if (!again.ok()) fail("what was written can't be read", again.error().to_line());
  if (to_value(*again) != written) fail("it is written as something else", encoding::to_json(written));
  (void)summary_of(*revision);
}

void check_anchor(const encoding::Value& value) {
  using namespace release;
  const ReleaseId id{"shop", "web"};
  (void)anchor_from_metadata(value);
  (void)summary_from_metadata(value);
  const auto anchor = anchor_from_secret(value, id);
  if (!anchor.ok()) return;
  if (anchor->id != id) fail("an anchor of another release", anchor->id.display());
  // Nobody who doesn't know the key can make a seal; the bytes are shorter than a chance.
  Anchor ours;
  ours.id = id;
  ours.seals = Seals::with(SecretString(std::string(32, 'k')), 0);
  if (check_seals(ours, 3, value).ok()) fail("a seal without the key", encoding::to_json(value));
}

}  // namespace

void release_record(std::string_view bytes) {
  using namespace release;
  Input input(bytes);
  const std::uint8_t what = input.byte();
  std::string text(input.rest());
  if (what % 4 == 3) {
    auto unpacked = encoding::gunzip(text, std::size_t{1} << 20);
    if (!unpacked.ok()) return check_error(unpacked.error());
    text = *std::move(unpacked);
  }
  const auto value = encoding::parse_json(text);
  if (!value.ok()) return;
  switch (what % 4) {
    case 0:
      return check_anchor(*value);
    case 1:
      if (const auto inventory = inventory_from_value(*value); inventory.ok()) {
        const auto again = inventory_from_value(to_value(*inventory));
        if (!again.ok() || again->size() != inventory->size())
          fail("an inventory that is written as another", text);
      }
      (void)head_from_value(*value);
      (void)lock_from_value(*value);
      return;
    default:
      return check_revision(*value);
  }
}

}  // namespace mist::fuzz
