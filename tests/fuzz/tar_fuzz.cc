// tar archives: what is read is within the limits, and written and read again the same.
#include "encoding/tar.h"

#include "targets.h"

namespace mist::fuzz {

void tar(std::string_view bytes) {
  constexpr encoding::TarLimits kLimits{.bytes = 1 << 16, .files = 100};
  const auto files = encoding::read_tar(bytes, "fuzz", kLimits);
  if (!files.ok()) return check_error(files.error());
  std::uint64_t together = 0;
  for (const encoding::TarFile& file : *files) together += file.bytes.size();
  if (together > kLimits.bytes || files->size() > kLimits.files) fail("more than the limit", "");
  const auto again = encoding::read_tar(encoding::write_tar(*files), "written", kLimits);
  if (!again.ok()) fail("what was written can't be read", again.error().to_line());
  if (*again != *files) fail("it is written as something else", "");
}

}  // namespace mist::fuzz
