#include "registry/kept_index.h"

#include <utility>

#include "config/paths.h"
#include "crypto/digest.h"
#include "encoding/json.h"

namespace mist::registry {
namespace {

using encoding::Value;

// One line of JSON with the validators, the index's digest, and that it is doubted, then the index as it
// came: it is written without a sync, so a machine that stops may leave a part of it. SnapshotStore::bound()
// knows that name.
constexpr std::string_view kCurrent = "current";
constexpr std::uint64_t kMostKept = std::uint64_t{65} << 20;

std::string to_file(const KeptIndex& kept) {
  Value line = Value::object({{"etag", kept.validators.etag},
                              {"lastModified", kept.validators.last_modified},
                              {"sha256", kept.state}});
  if (kept.doubted) line.set("doubted", true);
  return fmt::format("{}\n{}", encoding::to_json(line), kept.text);
}

std::optional<KeptIndex> from_file(const std::string& text) {
  const auto end = text.find('\n');
  if (end == std::string::npos) return std::nullopt;
  const Result<Value> line = encoding::parse_json(std::string_view(text).substr(0, end));
  if (!line || !line->is_object()) return std::nullopt;
  FileValidators validators{std::string(line->string_at("etag")),
                            std::string(line->string_at("lastModified"))};
  KeptIndex kept(std::move(validators), text.substr(end + 1));
  // Older versions of this program wrote no digest. Whether such a file is whole is not known, so nothing may
  // confirm it: the next update fetches the index again.
  if (line->find("sha256") == nullptr)
    kept.validators = {};
  else if (line->string_at("sha256") != kept.state)
    return std::nullopt;
  kept.doubted = line->find("doubted") != nullptr;
  return kept;
}

}  // namespace

KeptIndex::KeptIndex(FileValidators of_it, std::string as_it_came)
    : validators(std::move(of_it)), text(std::move(as_it_came)), state(crypto::sha256(text).hex()) {}

std::optional<KeptIndex> read_kept_index(const FileSystem& files, const Path& directory) {
  const Result<std::string> text = files.read(directory / kCurrent, kMostKept);
  return text ? from_file(*text) : std::nullopt;
}

Status keep_index(FileSystem& files, const Path& directory, const KeptIndex& index) {
  MIST_TRY_VOID(config::make_private_directory(files, directory));
  return files.write(directory / kCurrent, to_file(index), {.mode = 0600, .durable = false});
}

void forget_kept_index(FileSystem& files, const Path& directory) { (void)files.remove(directory / kCurrent); }

}  // namespace mist::registry
