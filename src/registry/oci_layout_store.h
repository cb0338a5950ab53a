#pragma once
// OCI image layouts on disk (image specification, "Image Layout"): a directory, or a tar of one. One layout
// holds artifacts of many repositories. Each is an entry of index.json whose annotation
// org.opencontainers.image.ref.name is the whole reference, "registry.example/team/shop:1.4.0", so skopeo and
// oras find it there by that name. Like a registry without the referrers API, a layout has its lists of
// referrers under tags (oci/signature.h).
//
// All that is read is compared with its digest, and with the digest that it was asked for by. The same
// artifacts give the same bytes, whatever order they came in. Any thread; one process at a time writes.

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/fs.h"
#include "registry/oci_place.h"
#include "registry/oci_store.h"

namespace mist::registry {

/// The files of a layout by their names there: "index.json", "blobs/sha256/HEX".
class LayoutFiles {
 public:
  virtual ~LayoutFiles() = default;
  /// Nothing: there is no such file. Invalid: it has more than `limit` bytes.
  virtual Result<std::optional<std::string>> read(const std::string& name, std::uint64_t limit) const = 0;
  /// Where such a file is; nothing: there is no such file. Invalid: it is a pipe, a socket or a device.
  virtual Result<std::optional<FilePart>> part(const std::string& name) const = 0;
};

/// NotFound: there is no such directory.
Result<std::unique_ptr<LayoutFiles>> directory_layout(const FileSystem& files, const Path& directory);
/// Of a tar, which isn't compressed; only its headers are read here. NotFound; Invalid: it is none.
Result<std::unique_ptr<LayoutFiles>> archive_layout(const Path& archive);
/// Either, of a place that is no registry.
Result<std::unique_ptr<LayoutFiles>> layout_at(const FileSystem& files, const OciPlace& place);

/// Which repository an entry belongs to when its name is only a tag, as other tools write it.
enum class BareTags : bool { OfNoRepository, OfAnyRepository };

class LayoutReader final : public OciSource {
 public:
  /// `place` stands in messages. Errors: Invalid (no layout, or of another version).
  static Result<std::unique_ptr<LayoutReader>> open(std::unique_ptr<LayoutFiles> files, std::string place,
                                                    BareTags bare_tags = BareTags::OfNoRepository);

  Result<RawManifest> manifest(const oci::Repository& repository, const std::string& tag,
                               const Context& context) override;
  Result<std::optional<RawManifest>> find_manifest(const oci::Repository& repository, const std::string& tag,
                                                   const Context& context) override;
  Result<std::vector<oci::Descriptor>> referrers(const oci::Repository& repository,
                                                 const crypto::Digest& manifest,
                                                 std::string_view artifact_type,
                                                 const Context& context) override;
  Result<std::string> blob(const oci::Repository& repository, const oci::Descriptor& descriptor,
                           std::uint64_t limit, const Context& context) override;
  Status stream_blob(const oci::Repository& repository, const oci::Descriptor& descriptor,
                     std::uint64_t limit, const ByteSink& sink, const Context& context) override;
  std::optional<FilePart> file_of(const oci::Descriptor& descriptor) override;
  Result<std::vector<std::string>> tags(const oci::Repository& repository, const Context& context) override;

  /// Whether index.json has that manifest among those of the repository, by a tag or by its digest.
  bool names(const oci::Repository& repository, const crypto::Digest& manifest) const;

  /// By reference, as in index.json.
  using Entries = std::map<std::string, oci::Descriptor>;
  const Entries& entries() const { return entries_; }
  const LayoutFiles& files() const { return *files_; }

 private:
  friend class LayoutWriter;
  LayoutReader(std::unique_ptr<LayoutFiles> files, std::string place, Entries entries, BareTags bare_tags)
      : files_(std::move(files)),
        place_(std::move(place)),
        entries_(std::move(entries)),
        bare_tags_(bare_tags) {}
  Entries::const_iterator entry_of(const oci::Repository& repository, const std::string& tag) const;

  std::unique_ptr<LayoutFiles> files_;
  std::string place_;
  Entries entries_;
  BareTags bare_tags_;
};

class LayoutWriter final : public OciTarget {
 public:
  /// Makes the directory where there is none, and waits for others who write there. Its contents stay.
  /// Errors: Invalid (other files are there, and no layout), of FileSystem, Timeout, Cancelled.
  static Result<std::unique_ptr<LayoutWriter>> open(FileSystem& files, const Path& directory,
                                                    const Context& context);

  bool is_complete() const override { return false; }
  Result<RawManifest> manifest(const oci::Repository& repository, const std::string& tag,
                               const Context& context) override;
  Result<std::optional<RawManifest>> find_manifest(const oci::Repository& repository, const std::string& tag,
                                                   const Context& context) override;
  Result<std::vector<oci::Descriptor>> referrers(const oci::Repository& repository,
                                                 const crypto::Digest& manifest,
                                                 std::string_view artifact_type,
                                                 const Context& context) override;
  Result<std::string> blob(const oci::Repository& repository, const oci::Descriptor& descriptor,
                           std::uint64_t limit, const Context& context) override;
  Result<std::vector<std::string>> tags(const oci::Repository& repository, const Context& context) override;
  Result<std::optional<crypto::Digest>> find_digest(const oci::Repository& repository, const std::string& tag,
                                                    const Context& context) override;
  /// One that is damaged isn't there.
  Result<bool> has_blob(const oci::Repository& repository, const oci::Descriptor& descriptor,
                        const Context& context) override;
  Status push_blob(const oci::Repository& repository, const oci::Blob& blob, const Context& context) override;
  /// From the source to the disk, piece by piece.
  Result<Moved> take_blob(OciSource& source, const oci::Repository& from, const oci::Repository& to,
                          const oci::Descriptor& descriptor, std::uint64_t limit,
                          const Context& context) override;
  /// Under a tag it is in index.json at once; by its digest alone after the next tag, or finish(). The
  /// manifest that the tag stood for stays, by its digest if nothing else names it, unless it, or something
  /// that it leads to, is lost or damaged.
  Result<bool> put_manifest(const oci::Repository& repository, const std::string& tag,
                            const std::string& manifest, std::string_view media_type,
                            const Context& context) override;

  Status finish();

 private:
  LayoutWriter(FileSystem& files, Path directory, std::unique_ptr<LayoutReader> reader, FileLock lock)
      : files_(files), directory_(std::move(directory)), reader_(std::move(reader)), lock_(std::move(lock)) {}

  Status write_blob(const crypto::Digest& digest, std::string_view bytes);
  Status write_index();
  Status keep_replaced(const oci::Repository& repository, const std::string& tag, const crypto::Digest& now,
                       const Context& context);

  FileSystem& files_;
  Path directory_;
  std::mutex mutex_;
  std::unique_ptr<LayoutReader> reader_;  // its entries are guarded by mutex_
  bool is_dirty_ = false;                 // guarded by mutex_
  FileLock lock_;
};

/// A layout as it would become, for --dry-run: it holds what `layout` does, and takes nothing.
class LayoutPreview final : public OciTarget {
 public:
  /// `layout`: null: there is none yet.
  explicit LayoutPreview(std::unique_ptr<LayoutReader> layout) : layout_(std::move(layout)) {}

  bool is_complete() const override { return false; }
  Result<RawManifest> manifest(const oci::Repository& repository, const std::string& tag,
                               const Context& context) override;
  Result<std::optional<RawManifest>> find_manifest(const oci::Repository& repository, const std::string& tag,
                                                   const Context& context) override;
  Result<std::vector<oci::Descriptor>> referrers(const oci::Repository& repository,
                                                 const crypto::Digest& manifest,
                                                 std::string_view artifact_type,
                                                 const Context& context) override;
  Result<std::string> blob(const oci::Repository& repository, const oci::Descriptor& descriptor,
                           std::uint64_t limit, const Context& context) override;
  Result<std::vector<std::string>> tags(const oci::Repository& repository, const Context& context) override;
  Result<std::optional<crypto::Digest>> find_digest(const oci::Repository& repository, const std::string& tag,
                                                    const Context& context) override;
  Result<bool> has_blob(const oci::Repository& repository, const oci::Descriptor& descriptor,
                        const Context& context) override;
  /// Internal: nobody writes here.
  Status push_blob(const oci::Repository& repository, const oci::Blob& blob, const Context& context) override;
  Result<bool> put_manifest(const oci::Repository& repository, const std::string& tag,
                            const std::string& manifest, std::string_view media_type,
                            const Context& context) override;

 private:
  std::unique_ptr<LayoutReader> layout_;
};

/// Writes what index.json of the layout leads to into a tar: the same artifacts give the same bytes. Errors:
/// of FileSystem; Invalid (a blob is missing or damaged).
Status write_layout_archive(const LayoutReader& layout, const Path& archive, const Context& context);
/// Fills `directory` with the files of a layout that is a tar; those that are there already stay.
Status unpack_layout_archive(FileSystem& files, const Path& archive, const Path& directory,
                             const Context& context);

}  // namespace mist::registry
