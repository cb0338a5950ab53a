#include "render/local_fixed_inputs.h"

#include <sys/stat.h>

#include <array>
#include <span>
#include <vector>

#include "base/text.h"
#include "crypto/hkdf.h"
#include "encoding/json.h"

namespace mist::render {

using encoding::Value;

namespace {

// In a seed file. Older ones lack it, and what was rendered from them must not change.
constexpr std::string_view kChartSeeds = "chartSeeds", kOwn = "own";

Result<FixedInputs> parse(const std::string& text, const Path& path, const release::ReleaseId& release) {
  const auto document = encoding::parse_json(text);
  std::string seed;
  const Value* const charts = document.ok() ? document->find(kChartSeeds) : nullptr;
  const bool good = document.ok() && (charts == nullptr || *charts == Value(kOwn)) &&
                    base64_decode(document->string_at("seed"), seed) && seed.size() == 32 &&
                    parse_time(document->string_at("clock")).has_value();
  if (!good)
    return error(ErrorKind::Invalid, "the seed file {} is damaged", path.string())
        .with_hint("restore it; without it, what packages draw at random will be different");
  const std::string info = "mistletoe/local-release/v1/" + release.display();
  const std::vector<std::byte> own =
      crypto::hkdf_sha256(std::as_bytes(std::span(seed)), {}, std::as_bytes(std::span(info)), 32);
  return FixedInputs{SecretString(std::string(reinterpret_cast<const char*>(own.data()), own.size())),
                     std::string(document->string_at("clock")), charts == nullptr};
}

}  // namespace

Result<FixedInputs> local_fixed_inputs(FileSystem& files, Random& random, const Clock& clock,
                                       EventSink& events, const Path& path, SeedFile missing,
                                       const release::ReleaseId& release) {
  if (auto text = files.read(path, 4096); text.ok()) {
    struct stat info{};
    if (missing != SeedFile::Mounted && ::stat(path.c_str(), &info) == 0 && (info.st_mode & 077) != 0)
      return error(ErrorKind::Invalid, "the seed file {} can be read by others", path.string())
          .with_hint(fmt::format("chmod 600 {}", path.string()));
    return parse(*text, path, release);
  } else if (text.error().kind != ErrorKind::NotFound || missing != SeedFile::MayBeMade) {
    return std::move(text).error().with_frame("while reading the seed file");
  }
  std::array<std::byte, 32> seed;
  random.fill(seed);
  const std::string bytes(reinterpret_cast<const char*>(seed.data()), seed.size());
  const Value document = Value::object(
      {{"seed", base64_encode(bytes)}, {"clock", format_time(clock.now())}, {kChartSeeds, kOwn}});
  const std::string content = encoding::to_json(document) + "\n";
  Status written = files.make_directories(path.parent_path(), 0700);
  if (written.ok()) written = files.write(path, content, {.mode = 0600, .exclusive = true});
  if (!written.ok() && written.error().kind != ErrorKind::Conflict) {
    events.warn(
        fmt::format("the seed can't be kept, so what the package draws at random will be different the "
                    "next time, unless --seed-file names one: {}",
                    written.error().to_line()));
    return parse(content, path, release);
  }
  // On a conflict another process was quicker: its seed is the one.
  MIST_TRY(const std::string text, files.read(path, 4096));
  return parse(text, path, release);
}

}  // namespace mist::render
