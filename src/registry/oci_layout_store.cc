#include "registry/oci_layout_store.h"

#include <algorithm>
#include <filesystem>
#include <span>

#include "base/file_parts.h"
#include "base/output_file.h"
#include "base/text.h"
#include "encoding/json.h"
#include "encoding/tar.h"
#include "oci/signature.h"
#include "oci/tags.h"
#include "registry/oci_copy.h"

namespace mist::registry {
namespace {

using Entries = LayoutReader::Entries;

constexpr std::string_view kLayoutFile = "oci-layout";
constexpr std::string_view kIndexFile = "index.json";
constexpr std::string_view kBlobDirectory = "blobs/sha256";
constexpr std::string_view kLayoutText = R"({"imageLayoutVersion":"1.0.0"})";
constexpr std::string_view kNameAnnotation = "org.opencontainers.image.ref.name";
constexpr std::uint64_t kMaxLayoutText = 4096;
constexpr std::size_t kMaxArchiveFiles = 1'000'000;
constexpr std::size_t kPiece = std::size_t{1} << 20;
constexpr WriteOptions kPublicFile{.mode = 0644};

std::string blob_file(const crypto::Digest& digest) {
  return fmt::format("{}/{}", kBlobDirectory, digest.hex());
}

// "registry.example/team/shop", whichever way the repository is written.
std::string entry_base(const oci::Repository& repository) {
  return repository.identity().substr(oci::kScheme.size());
}

std::string entry_name(const oci::Repository& repository, const std::string& tag) {
  const bool is_digest = crypto::Digest::parse(tag).ok();
  return fmt::format("{}{}{}", entry_base(repository), is_digest ? "@" : ":", tag);
}

// Whether a tag of the repository stands for that manifest.
bool has_tag(const Entries& entries, const oci::Repository& repository, const crypto::Digest& manifest) {
  const std::string prefix = entry_base(repository) + ":";
  for (auto entry = entries.lower_bound(prefix); entry != entries.end(); ++entry) {
    if (!entry->first.starts_with(prefix)) return false;
    if (entry->second.digest == manifest) return true;
  }
  return false;
}

class DirectoryLayout final : public LayoutFiles {
 public:
  DirectoryLayout(const FileSystem& files, Path directory)
      : files_(files), directory_(std::move(directory)) {}

  Result<std::optional<std::string>> read(const std::string& name, std::uint64_t limit) const override {
    MIST_TRY_VOID(refuse_special_file(directory_ / name));
    Result<std::string> bytes = files_.read(directory_ / name, limit);
    if (bytes) return std::optional(*std::move(bytes));
    if (bytes.error().kind == ErrorKind::NotFound) return std::optional<std::string>();
    return std::move(bytes).error();
  }

  Result<std::optional<FilePart>> part(const std::string& name) const override {
    std::error_code failed;
    const Path file = directory_ / name;
    MIST_TRY_VOID(refuse_special_file(file));
    const std::uint64_t size = std::filesystem::file_size(file, failed);
    return failed ? std::optional<FilePart>() : std::optional(FilePart{file, 0, size});
  }

 private:
  const FileSystem& files_;
  Path directory_;
};

struct ArchivePart {
  std::uint64_t offset = 0, size = 0;
};
using ArchiveParts = std::map<std::string, ArchivePart>;

class ArchiveLayout final : public LayoutFiles {
 public:
  ArchiveLayout(Path archive, ArchiveParts parts) : archive_(std::move(archive)), parts_(std::move(parts)) {}

  const ArchiveParts& parts() const { return parts_; }

  Result<std::optional<std::string>> read(const std::string& name, std::uint64_t limit) const override {
    const auto part = parts_.find(name);
    if (part == parts_.end()) return std::optional<std::string>();
    if (part->second.size > limit)
      return error(ErrorKind::Invalid, "{} in {} is larger than the limit of {} bytes", name,
                   escape_controls(archive_.string()), limit);
    MIST_TRY(std::string bytes,
             read_file_part(archive_, part->second.offset, static_cast<std::size_t>(part->second.size)));
    return std::optional(std::move(bytes));
  }

  Result<std::optional<FilePart>> part(const std::string& name) const override {
    const auto found = parts_.find(name);
    if (found == parts_.end()) return std::optional<FilePart>();
    return std::optional(FilePart{archive_, found->second.offset, found->second.size});
  }

 private:
  Path archive_;
  ArchiveParts parts_;
};

Error no_archive(const Path& archive, std::string because, std::string hint = {}) {
  return error(ErrorKind::Invalid, "{} is not a tar of an OCI layout", escape_controls(archive.string()))
      .with_because(std::move(because))
      .with_hint(std::move(hint));
}

Result<std::unique_ptr<ArchiveLayout>> open_archive(const Path& archive) {
  const std::string name = escape_controls(archive.string());
  ArchiveParts parts;
  std::uint64_t offset = 0;
  for (std::size_t count = 0;; ++count) {
    if (count > kMaxArchiveFiles) return no_archive(archive, "it has too many files");
    MIST_TRY(const std::string block, read_file_part(archive, offset, encoding::kTarBlock));
    if (offset == 0 && block.starts_with("\x1f\x8b"))
      return no_archive(archive, "it is compressed with gzip", "unpack it with gunzip");
    MIST_TRY(const auto header, encoding::read_tar_header(block, name));
    if (!header) break;
    offset += encoding::kTarBlock;
    if (header->is_file) parts.insert_or_assign(header->path, ArchivePart{offset, header->size});
    offset += header->size + encoding::tar_padding(header->size);
  }
  return std::make_unique<ArchiveLayout>(archive, std::move(parts));
}

Status check_version(const LayoutFiles& files, const std::string& place) {
  MIST_TRY(const std::optional<std::string> text, files.read(std::string(kLayoutFile), kMaxLayoutText));
  const auto bad = [&](std::string because) {
    return error(ErrorKind::Invalid, "{} is not an OCI layout", place).with_because(std::move(because));
  };
  if (!text) return bad(fmt::format("there is no file {}", kLayoutFile));
  const Result<encoding::Value> document = encoding::parse_json(*text);
  if (!document) return bad(fmt::format("its {} can't be read", kLayoutFile));
  const std::string_view version = document->string_at("imageLayoutVersion");
  if (!version.starts_with("1.")) return bad(fmt::format("its version is \"{}\"", escape_controls(version)));
  return {};
}

// An entry without a name goes by its digest: "@sha256:…".
Result<Entries> entries_in(const oci::Index& index, const std::string& place) {
  Entries entries;
  for (const oci::Descriptor& each : index.manifests) {
    const auto annotation = each.annotations.find(std::string(kNameAnnotation));
    const std::string name =
        annotation == each.annotations.end() ? "@" + each.digest.str() : annotation->second;
    const auto [entry, added] = entries.emplace(name, each);
    if (!added && entry->second.digest != each.digest)
      return error(ErrorKind::Invalid, "{} names {} twice", place, escape_controls(name));
  }
  return entries;
}

std::string index_text(const Entries& entries) {
  oci::Index index;
  for (const auto& [name, descriptor] : entries) {
    index.manifests.push_back(descriptor);
    if (!name.starts_with('@'))
      index.manifests.back().annotations.insert_or_assign(std::string(kNameAnnotation), name);
  }
  return index.to_json();
}

Result<Entries> read_entries(const LayoutFiles& files, const std::string& place) {
  MIST_TRY(const std::optional<std::string> text,
           files.read(std::string(kIndexFile), oci::kMaxLayoutIndexBytes));
  if (!text) return Entries();
  MIST_TRY(const oci::Index index,
           oci::parse_layout_index(*text, fmt::format("{} of {}", kIndexFile, place)));
  return entries_in(index, place);
}

Error damaged_blob(const crypto::Digest& digest, const std::string& place, std::string because) {
  return error(ErrorKind::Conflict, "{} of {} is not what its digest says", digest.str(), place)
      .with_because(std::move(because))
      .with_hint("the files were changed or damaged: mirror the package again, which repairs them");
}

Error misnamed_manifest(const oci::Repository& repository, const crypto::Digest& named,
                        const crypto::Digest& there, const std::string& place) {
  return error(ErrorKind::Conflict, "{}@{} is not what its digest says", repository.str(), named.str())
      .with_because(fmt::format("in {}, that name stands for {}", place, there.str()))
      .with_hint("somebody changed its index.json: mirror the package again, which repairs it");
}

// Nothing: it isn't there.
Result<std::optional<std::string>> read_blob(const LayoutFiles& files, const crypto::Digest& digest,
                                             std::uint64_t limit, const std::string& place) {
  MIST_TRY(std::optional<std::string> bytes, files.read(blob_file(digest), limit));
  if (!bytes) return bytes;
  if (const crypto::Digest found = crypto::sha256(*bytes); found != digest)
    return damaged_blob(digest, place, fmt::format("the bytes there are {}", found.str()));
  return bytes;
}

// The same of a blob of that size, piece by piece. False: it isn't there.
Result<bool> stream_file(const LayoutFiles& files, const oci::Descriptor& descriptor,
                         const std::string& place, const ByteSink& sink, const Context& context) {
  MIST_TRY(const std::optional<FilePart> part, files.part(blob_file(descriptor.digest)));
  if (!part) return false;
  if (part->size != descriptor.size)
    return damaged_blob(
        descriptor.digest, place,
        fmt::format("it has {} bytes, and its manifest says {}", part->size, descriptor.size));
  MIST_TRY(const OpenFile file, OpenFile::open(part->path));
  std::string buffer(static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, part->size)), '\0');
  crypto::Hasher hasher;
  for (std::uint64_t at = 0; at < part->size;) {
    MIST_TRY_VOID(context.check());
    const std::uint64_t wanted = std::min<std::uint64_t>(buffer.size(), part->size - at);
    MIST_TRY(const std::size_t got,
             file.read(part->offset + at, std::span(buffer).first(static_cast<std::size_t>(wanted))));
    if (got == 0) return damaged_blob(descriptor.digest, place, "it ends too early");
    const std::string_view piece(buffer.data(), got);
    hasher.update(piece);
    MIST_TRY_VOID(sink(piece));
    at += piece.size();
  }
  if (const crypto::Digest found = hasher.finish(); found != descriptor.digest)
    return damaged_blob(descriptor.digest, place, fmt::format("the bytes there are {}", found.str()));
  return true;
}

Status nowhere(std::string_view /*piece*/) { return {}; }

// By the hexadecimal digits of their digests, the order in which archives have them.
using Blobs = std::map<std::string, oci::Descriptor>;

// Everything that entries lead to, manifests too. The manifests are intact; of the other blobs only the
// descriptors are known.
class Reachable {
 public:
  Reachable(const LayoutReader& layout, const std::string& place) : layout_(layout), place_(place) {}

  Result<Blobs> from_all() {
    for (const auto& [name, descriptor] : layout_.entries()) MIST_TRY_VOID(manifest(descriptor.digest, 0));
    return std::move(found_);
  }

  Result<Blobs> from(const crypto::Digest& digest) {
    MIST_TRY_VOID(manifest(digest, 0));
    return std::move(found_);
  }

 private:
  Status manifest(const crypto::Digest& digest, int depth) {
    constexpr int kDeepest = 16;
    if (depth > kDeepest) return error(ErrorKind::Invalid, "{} has an index of too many indexes", place_);
    const auto [entry, is_new] = found_.try_emplace(digest.hex(), oci::Descriptor{{}, digest});
    if (!is_new) return {};
    MIST_TRY(const std::optional<std::string> bytes,
             read_blob(layout_.files(), digest, oci::kMaxManifestBytes, place_));
    if (!bytes) return error(ErrorKind::Invalid, "{} has lost {}", place_, digest.str());
    entry->second.size = bytes->size();
    MIST_TRY(const oci::Document document, oci::parse_document(*bytes, {}, digest.str()));
    if (const auto* index = std::get_if<oci::Index>(&document)) {
      for (const oci::Descriptor& each : index->manifests) MIST_TRY_VOID(manifest(each.digest, depth + 1));
      return {};
    }
    const auto& found = std::get<oci::Manifest>(document);
    found_.emplace(found.config.digest.hex(), found.config);
    for (const oci::Descriptor& layer : found.layers) found_.emplace(layer.digest.hex(), layer);
    return {};
  }

  const LayoutReader& layout_;
  const std::string& place_;
  Blobs found_;
};

// Whether the layout has all of an artifact, undamaged, so that an archive can have it.
Result<bool> is_whole(const LayoutReader& layout, const crypto::Digest& manifest, const std::string& place,
                      const Context& context) {
  const auto is_damage = [](const Error& failure) {
    return failure.kind == ErrorKind::Conflict || failure.kind == ErrorKind::Invalid;
  };
  const Result<Blobs> blobs = Reachable(layout, place).from(manifest);
  if (!blobs && is_damage(blobs.error())) return false;
  if (!blobs) return blobs.error();
  for (const auto& [hex, descriptor] : *blobs) {
    const Result<bool> there = stream_file(layout.files(), descriptor, place, nowhere, context);
    MIST_TRY_VOID(context.check());
    if (!there && !is_damage(there.error())) return there.error();
    if (!there || !*there) return false;
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<LayoutFiles>> directory_layout(const FileSystem& files, const Path& directory) {
  if (!files.is_directory(directory))
    return error(ErrorKind::NotFound, "there is no directory {}", escape_controls(directory.string()));
  return std::unique_ptr<LayoutFiles>(std::make_unique<DirectoryLayout>(files, directory));
}

Result<std::unique_ptr<LayoutFiles>> archive_layout(const Path& archive) {
  MIST_TRY(std::unique_ptr<ArchiveLayout> opened, open_archive(archive));
  return std::unique_ptr<LayoutFiles>(std::move(opened));
}

Result<std::unique_ptr<LayoutFiles>> layout_at(const FileSystem& files, const OciPlace& place) {
  return place.kind == OciPlace::Kind::Directory ? directory_layout(files, place.path)
                                                 : archive_layout(place.path);
}

// LayoutReader

Result<std::unique_ptr<LayoutReader>> LayoutReader::open(std::unique_ptr<LayoutFiles> files,
                                                         std::string place, BareTags bare_tags) {
  MIST_TRY_VOID(check_version(*files, place));
  MIST_TRY(Entries entries, read_entries(*files, place));
  return std::unique_ptr<LayoutReader>(
      new LayoutReader(std::move(files), std::move(place), std::move(entries), bare_tags));
}

bool LayoutReader::names(const oci::Repository& repository, const crypto::Digest& manifest) const {
  const auto own = entries_.find(entry_name(repository, manifest.str()));
  return (own != entries_.end() && own->second.digest == manifest) || has_tag(entries_, repository, manifest);
}

LayoutReader::Entries::const_iterator LayoutReader::entry_of(const oci::Repository& repository,
                                                             const std::string& tag) const {
  const auto own = entries_.find(entry_name(repository, tag));
  return own == entries_.end() && bare_tags_ == BareTags::OfAnyRepository ? entries_.find(tag) : own;
}

Result<std::optional<RawManifest>> LayoutReader::find_manifest(const oci::Repository& repository,
                                                               const std::string& tag,
                                                               const Context& /*context*/) {
  const Result<crypto::Digest> named = crypto::Digest::parse(tag);
  std::optional<crypto::Digest> digest = named ? std::optional(*named) : std::nullopt;
  std::string media_type;
  if (const auto entry = entry_of(repository, tag); entry != entries_.end()) {
    // Anybody may have written the names of index.json.
    if (named && *named != entry->second.digest)
      return misnamed_manifest(repository, *named, entry->second.digest, place_);
    digest = entry->second.digest;
    media_type = entry->second.media_type;
  }
  if (!digest) return std::optional<RawManifest>();
  MIST_TRY(std::optional<std::string> bytes, read_blob(*files_, *digest, oci::kMaxManifestBytes, place_));
  if (!bytes && !named)
    return error(ErrorKind::Conflict, "{} has lost {} of {}", place_, digest->str(), repository.str())
        .with_hint("mirror the package again, which repairs it");
  if (!bytes) return std::optional<RawManifest>();
  return std::optional(RawManifest{*std::move(bytes), std::move(media_type), *digest});
}

Result<RawManifest> LayoutReader::manifest(const oci::Repository& repository, const std::string& tag,
                                           const Context& context) {
  MIST_TRY(std::optional<RawManifest> found, find_manifest(repository, tag, context));
  if (found) return *std::move(found);
  Error failure = error(ErrorKind::NotFound, "there is no {} of {} in {}", tag, repository.str(), place_);
  const Result<std::vector<std::string>> there = tags(repository, context);
  std::vector<std::string> some = there ? oci::newest_first(*there) : std::vector<std::string>();
  if (some.size() > 5) some.resize(5);
  if (!some.empty()) failure.hint = fmt::format("there are {}", join(some, ", "));
  return failure;
}

Result<std::vector<oci::Descriptor>> LayoutReader::referrers(const oci::Repository& repository,
                                                             const crypto::Digest& manifest,
                                                             std::string_view /*artifact_type*/,
                                                             const Context& context) {
  const std::string tag = oci::referrers_tag(manifest);
  MIST_TRY(const std::optional<RawManifest> raw, find_manifest(repository, tag, context));
  if (!raw) return std::vector<oci::Descriptor>();
  MIST_TRY(oci::Document document, oci::parse_document(raw->bytes, raw->content_type, tag));
  auto* const index = std::get_if<oci::Index>(&document);
  return index != nullptr ? std::move(index->manifests) : std::vector<oci::Descriptor>();
}

Result<std::string> LayoutReader::blob(const oci::Repository& repository, const oci::Descriptor& descriptor,
                                       std::uint64_t limit, const Context& context) {
  std::string bytes;
  MIST_TRY_VOID(stream_blob(
      repository, descriptor, limit,
      [&](std::string_view piece) {
        if (bytes.empty()) bytes.reserve(static_cast<std::size_t>(descriptor.size));
        bytes += piece;
        return Status();
      },
      context));
  return bytes;
}

Status LayoutReader::stream_blob(const oci::Repository& repository, const oci::Descriptor& descriptor,
                                 std::uint64_t limit, const ByteSink& sink, const Context& context) {
  if (descriptor.size > limit)
    return error(ErrorKind::Invalid, "{} of {} is too large: it has {} bytes, {} are allowed",
                 descriptor.digest.str(), repository.str(), descriptor.size, limit);
  MIST_TRY(const bool there, stream_file(*files_, descriptor, place_, sink, context));
  if (there) return {};
  return error(ErrorKind::NotFound, "{} has no {} of {}", place_, descriptor.digest.str(), repository.str())
      .with_hint("mirror the package again");
}

std::optional<FilePart> LayoutReader::file_of(const oci::Descriptor& descriptor) {
  return files_->part(blob_file(descriptor.digest)).value_or(std::nullopt);
}

Result<std::vector<std::string>> LayoutReader::tags(const oci::Repository& repository,
                                                    const Context& /*context*/) {
  const std::string prefix = entry_base(repository) + ":";
  std::vector<std::string> found;
  for (auto entry = entries_.lower_bound(prefix); entry != entries_.end(); ++entry) {
    if (!entry->first.starts_with(prefix)) break;
    std::string tag = entry->first.substr(prefix.size());
    if (oci::is_tag(tag)) found.push_back(std::move(tag));
  }
  if (found.empty())
    return error(ErrorKind::NotFound, "there is no repository {} in {}", repository.str(), place_);
  return found;
}

// LayoutWriter

namespace {

// The first file of a layout while it is written, or as kill -9 left it (FileSystem::write).
bool is_begun_layout_file(const DirectoryEntry& entry) {
  return entry.name.starts_with(fmt::format(".{}.", kLayoutFile)) && entry.name.ends_with(".tmp");
}

// Somebody may have unpacked the layout from an archive of others.
Status check_no_links(const Path& directory) {
  for (const Path& part : {Path(kLayoutFile), Path(kIndexFile), Path("blobs"), Path("blobs/sha256")}) {
    std::error_code gone;
    if (!std::filesystem::is_symlink(directory / part, gone)) continue;
    return error(ErrorKind::Forbidden, "{} of {} is a link, which would be written through", part.string(),
                 escape_controls(directory.string()))
        .with_hint("remove the link, or name another directory");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<LayoutWriter>> LayoutWriter::open(FileSystem& files, const Path& directory,
                                                         const Context& context) {
  const Path layout = directory / kLayoutFile;
  MIST_TRY_VOID(check_no_links(directory));
  if (!files.exists(layout)) {
    if (files.is_directory(directory)) {
      MIST_TRY(std::vector<DirectoryEntry> there, files.list(directory));
      std::erase_if(there, is_begun_layout_file);
      // Somebody else may have begun it meanwhile.
      if (!there.empty() && !files.exists(layout))
        return error(ErrorKind::Invalid, "{} is not an OCI layout, and not empty",
                     escape_controls(directory.string()))
            .with_because(fmt::format("it has {}", escape_controls(there.front().name)))
            .with_hint("name a new directory, or one that a mirror was written to");
    }
    const Status made = files.write(layout, kLayoutText, {.mode = 0644, .durable = true, .exclusive = true});
    if (!made && made.error().kind != ErrorKind::Conflict) return made.error();
  }
  MIST_TRY(FileLock lock, FileLock::acquire(layout, context));
  MIST_TRY(std::unique_ptr<LayoutFiles> opened, directory_layout(files, directory));
  MIST_TRY(std::unique_ptr<LayoutReader> reader,
           LayoutReader::open(std::move(opened), escape_controls(directory.string())));
  return std::unique_ptr<LayoutWriter>(
      new LayoutWriter(files, directory, std::move(reader), std::move(lock)));
}

Result<RawManifest> LayoutWriter::manifest(const oci::Repository& repository, const std::string& tag,
                                           const Context& context) {
  const std::lock_guard guard(mutex_);
  return reader_->manifest(repository, tag, context);
}

Result<std::optional<RawManifest>> LayoutWriter::find_manifest(const oci::Repository& repository,
                                                               const std::string& tag,
                                                               const Context& context) {
  const std::lock_guard guard(mutex_);
  return reader_->find_manifest(repository, tag, context);
}

Result<std::vector<oci::Descriptor>> LayoutWriter::referrers(const oci::Repository& repository,
                                                             const crypto::Digest& manifest,
                                                             std::string_view artifact_type,
                                                             const Context& context) {
  const std::lock_guard guard(mutex_);
  return reader_->referrers(repository, manifest, artifact_type, context);
}

Result<std::string> LayoutWriter::blob(const oci::Repository& repository, const oci::Descriptor& descriptor,
                                       std::uint64_t limit, const Context& context) {
  return reader_->blob(repository, descriptor, limit, context);
}

Result<std::vector<std::string>> LayoutWriter::tags(const oci::Repository& repository,
                                                    const Context& context) {
  const std::lock_guard guard(mutex_);
  return reader_->tags(repository, context);
}

namespace {

// One that is lost or damaged is to be written again, and so is one that only another repository names: an
// archive has what the entries lead to, and nothing else.
Result<std::optional<crypto::Digest>> intact_digest(LayoutReader& layout, const oci::Repository& repository,
                                                    const std::string& tag, const Context& context) {
  const Result<std::optional<RawManifest>> raw = layout.find_manifest(repository, tag, context);
  if (!raw && raw.error().kind == ErrorKind::Conflict) return std::optional<crypto::Digest>();
  if (!raw) return raw.error();
  if (!*raw || !layout.names(repository, (*raw)->digest)) return std::optional<crypto::Digest>();
  return std::optional((*raw)->digest);
}

}  // namespace

Result<std::optional<crypto::Digest>> LayoutWriter::find_digest(const oci::Repository& repository,
                                                                const std::string& tag,
                                                                const Context& context) {
  const std::lock_guard guard(mutex_);
  return intact_digest(*reader_, repository, tag, context);
}

Result<bool> LayoutWriter::has_blob(const oci::Repository& /*repository*/, const oci::Descriptor& descriptor,
                                    const Context& context) {
  const auto found = stream_file(reader_->files(), descriptor, reader_->place_, nowhere, context);
  if (!found && found.error().kind != ErrorKind::Conflict) return found.error();
  return found && *found;
}

Status LayoutWriter::write_blob(const crypto::Digest& digest, std::string_view bytes) {
  const Path file = directory_ / blob_file(digest);
  std::error_code failed;
  if (std::filesystem::is_symlink(file, failed)) std::filesystem::remove(file, failed);
  return files_.write(file, bytes, kPublicFile);
}

Status LayoutWriter::push_blob(const oci::Repository& repository, const oci::Blob& blob,
                               const Context& context) {
  MIST_TRY_VOID(context.check());
  MIST_TRY(const bool there, has_blob(repository, blob.descriptor, context));
  if (there) return {};
  return write_blob(blob.descriptor.digest, blob.bytes);
}

Result<Moved> LayoutWriter::take_blob(OciSource& source, const oci::Repository& from,
                                      const oci::Repository& to, const oci::Descriptor& descriptor,
                                      std::uint64_t limit, const Context& context) {
  MIST_TRY(const bool there, has_blob(to, descriptor, context));
  if (there) return Moved::WasThere;
  const Path file = directory_ / blob_file(descriptor.digest);
  MIST_TRY_VOID(files_.make_directories(file.parent_path()));
  MIST_TRY_VOID(write_file_in_parts(file, [&](const ByteSink& sink) {
    return source.stream_blob(from, descriptor, limit, sink, context);
  }));
  return Moved::Sent;
}

Status LayoutWriter::write_index() {
  MIST_TRY_VOID(files_.write(directory_ / kIndexFile, index_text(reader_->entries_), kPublicFile));
  is_dirty_ = false;
  return {};
}

// Where a tag moves away from a manifest that nothing else of the repository names, it is kept by its digest:
// somebody may have copied it by that. One that lost something isn't: no archive could be made any more, as
// only its registry could repair it. Lists of referrers and signatures are replaced by their next edition.
Status LayoutWriter::keep_replaced(const oci::Repository& repository, const std::string& tag,
                                   const crypto::Digest& now, const Context& context) {
  Entries& entries = reader_->entries_;
  const auto tagged = entries.find(entry_name(repository, tag));
  if (tagged == entries.end() || tagged->second.digest == now || oci::subject_of_tag(tag)) return {};
  const oci::Descriptor replaced = tagged->second;
  auto before = entries.extract(tagged);
  if (reader_->names(repository, replaced.digest)) return {};
  const Result<bool> is_kept = is_whole(*reader_, replaced.digest, reader_->place_, context);
  if (!is_kept) {
    entries.insert(std::move(before));
    return is_kept.error();
  }
  if (*is_kept) entries.insert_or_assign(entry_name(repository, replaced.digest.str()), replaced);
  return {};
}

Result<bool> LayoutWriter::put_manifest(const oci::Repository& repository, const std::string& tag,
                                        const std::string& manifest, std::string_view media_type,
                                        const Context& context) {
  MIST_TRY_VOID(context.check());
  const std::lock_guard guard(mutex_);
  const oci::Descriptor descriptor = oci::descriptor_of(media_type, manifest);
  MIST_TRY_VOID(write_blob(descriptor.digest, manifest));
  Entries& entries = reader_->entries_;
  const std::string name = entry_name(repository, tag);
  const std::string by_digest = entry_name(repository, descriptor.digest.str());
  if (name != by_digest) {
    MIST_TRY_VOID(keep_replaced(repository, tag, descriptor.digest, context));
    entries.erase(by_digest);
    entries.insert_or_assign(name, descriptor);
    MIST_TRY_VOID(write_index());
    return false;
  }
  // A manifest that a tag names needs no other entry.
  if (has_tag(entries, repository, descriptor.digest)) {
    is_dirty_ = entries.erase(name) > 0 || is_dirty_;
    return false;
  }
  const auto [entry, added] = entries.try_emplace(name, descriptor);
  is_dirty_ = is_dirty_ || added || entry->second.digest != descriptor.digest;
  entry->second = descriptor;
  return false;
}

Status LayoutWriter::finish() {
  const std::lock_guard guard(mutex_);
  return is_dirty_ || !files_.exists(directory_ / kIndexFile) ? write_index() : Status();
}

// LayoutPreview

namespace {

Error not_in_preview(const oci::Repository& repository, std::string_view what) {
  return error(ErrorKind::NotFound, "there is no {} of {} yet", what, repository.str());
}

Error nobody_writes() { return error(ErrorKind::Internal, "a preview of a layout takes nothing"); }

}  // namespace

Result<RawManifest> LayoutPreview::manifest(const oci::Repository& repository, const std::string& tag,
                                            const Context& context) {
  if (layout_ == nullptr) return not_in_preview(repository, tag);
  return layout_->manifest(repository, tag, context);
}

Result<std::optional<RawManifest>> LayoutPreview::find_manifest(const oci::Repository& repository,
                                                                const std::string& tag,
                                                                const Context& context) {
  if (layout_ == nullptr) return std::optional<RawManifest>();
  return layout_->find_manifest(repository, tag, context);
}

Result<std::vector<oci::Descriptor>> LayoutPreview::referrers(const oci::Repository& repository,
                                                              const crypto::Digest& manifest,
                                                              std::string_view artifact_type,
                                                              const Context& context) {
  if (layout_ == nullptr) return std::vector<oci::Descriptor>();
  return layout_->referrers(repository, manifest, artifact_type, context);
}

Result<std::string> LayoutPreview::blob(const oci::Repository& repository, const oci::Descriptor& descriptor,
                                        std::uint64_t limit, const Context& context) {
  if (layout_ == nullptr) return not_in_preview(repository, descriptor.digest.str());
  return layout_->blob(repository, descriptor, limit, context);
}

Result<std::vector<std::string>> LayoutPreview::tags(const oci::Repository& repository,
                                                     const Context& context) {
  if (layout_ == nullptr) return not_in_preview(repository, "tag");
  return layout_->tags(repository, context);
}

Result<std::optional<crypto::Digest>> LayoutPreview::find_digest(const oci::Repository& repository,
                                                                 const std::string& tag,
                                                                 const Context& context) {
  if (layout_ == nullptr) return std::optional<crypto::Digest>();
  return intact_digest(*layout_, repository, tag, context);
}

Result<bool> LayoutPreview::has_blob(const oci::Repository& repository, const oci::Descriptor& descriptor,
                                     const Context& context) {
  if (layout_ == nullptr) return false;
  return layout_->stream_blob(repository, descriptor, kMaxCopiedBlob, nowhere, context).ok();
}

Status LayoutPreview::push_blob(const oci::Repository& /*repository*/, const oci::Blob& /*blob*/,
                                const Context& /*context*/) {
  return nobody_writes();
}

Result<bool> LayoutPreview::put_manifest(const oci::Repository& /*repository*/, const std::string& /*tag*/,
                                         const std::string& /*manifest*/, std::string_view /*media_type*/,
                                         const Context& /*context*/) {
  return nobody_writes();
}

// Archives

Status write_layout_archive(const LayoutReader& layout, const Path& archive, const Context& context) {
  const std::string place = escape_controls(archive.string());
  MIST_TRY(const Blobs blobs, Reachable(layout, place).from_all());
  const auto produce = [&](const ByteSink& sink) -> Status {
    const auto add = [&](std::string_view name, std::string_view bytes) -> Status {
      MIST_TRY_VOID(sink(encoding::tar_header(name, bytes.size())));
      MIST_TRY_VOID(sink(bytes));
      return sink(std::string(encoding::tar_padding(bytes.size()), '\0'));
    };
    MIST_TRY_VOID(add(kLayoutFile, kLayoutText));
    MIST_TRY_VOID(add(kIndexFile, index_text(layout.entries())));
    for (const auto& [hex, descriptor] : blobs) {
      MIST_TRY_VOID(context.check());
      const crypto::Digest& digest = descriptor.digest;
      MIST_TRY(const std::optional<std::string> bytes,
               read_blob(layout.files(), digest, kMaxCopiedBlob, place));
      if (!bytes) return error(ErrorKind::Invalid, "the layout has lost {}", digest.str());
      MIST_TRY_VOID(add(blob_file(digest), *bytes));
    }
    return sink(encoding::tar_end());
  };
  MIST_TRY(const Path target, link_target(archive));
  return write_file_in_parts(target, produce);
}

Status unpack_layout_archive(FileSystem& files, const Path& archive, const Path& directory,
                             const Context& context) {
  MIST_TRY(const std::unique_ptr<ArchiveLayout> opened, open_archive(archive));
  const auto unpack = [&](const std::string& name, std::uint64_t limit) -> Status {
    if (files.exists(directory / name)) return {};
    MIST_TRY(const std::optional<std::string> bytes, opened->read(name, limit));
    return bytes ? files.write(directory / name, *bytes, kPublicFile) : Status();
  };
  // The index comes last: with it, all is there.
  MIST_TRY_VOID(unpack(std::string(kLayoutFile), kMaxLayoutText));
  for (const auto& [name, part] : opened->parts()) {
    MIST_TRY_VOID(context.check());
    const auto slash = name.rfind('/');
    const bool is_blob = slash != std::string::npos && name.substr(0, slash) == kBlobDirectory &&
                         crypto::Digest::parse("sha256:" + name.substr(slash + 1)).ok();
    if (is_blob) MIST_TRY_VOID(unpack(name, kMaxCopiedBlob));
  }
  return unpack(std::string(kIndexFile), oci::kMaxLayoutIndexBytes);
}

}  // namespace mist::registry
