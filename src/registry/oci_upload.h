#pragma once
// Blobs on their way to an OCI registry, each in one request; a large one that breaks off goes on in chunks,
// where the registry has got to. Any thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/event.h"
#include "registry/blob_bytes.h"
#include "registry/oci_exchange.h"
#include "registry/transfer_progress.h"

namespace mist::registry {

class OciUpload {
 public:
  struct Sizes {
    std::size_t large_from = 0;   ///< blobs that large go on where they broke off
    std::size_t chunk_bytes = 0;  ///< of each chunk
  };
  /// `registry` and `events` outlive this. `events`: hears how far blobs are; null: nobody does.
  OciUpload(OciExchange& registry, Sizes sizes, EventSink* events = nullptr)
      : registry_(registry), sizes_(sizes), events_(events) {}

  /// The bytes that are sent. `verified`: whether they are those of the digest, as far as that isn't known
  /// before they are sent; waits.
  struct Bytes {
    const std::string& digest;
    const BlobBytes& bytes;
    std::function<Status()> verified = {};
  };
  Result<bool> has_blob(const oci::Repository& repository, const std::string& digest, const Context& context);
  /// An upload that a registry has begun.
  struct Opened {
    std::string location;         ///< where to send to
    std::size_t least_chunk = 0;  ///< of each chunk but the last, by OCI-Chunk-Min-Length
  };
  /// Nothing: `mount` had the blob with that digest, and it is there now.
  Result<std::optional<Opened>> open(const oci::Repository& repository, const Context& context,
                                     const oci::Repository* mount = nullptr, const std::string& digest = {});
  /// `opened`: an upload that is open already. One that breaks off, or that the registry forgot, goes on
  /// where the registry has got to, if it says so, or is begun again.
  Status send(const oci::Repository& repository, const Bytes& blob, std::optional<Opened> opened,
              const Context& context);
  /// The file is held against its digest by `verify`, on another thread meanwhile: that takes about as long
  /// as sending it. Conflict: it was changed meanwhile.
  Status send_file(const oci::Repository& repository, const std::string& digest, const FilePart& file,
                   std::optional<Opened> opened, const std::function<Status(const Context&)>& verify,
                   const Context& context);

 private:
  // An upload: where it goes on, how much of it the registry has, and whether what is left goes in chunks.
  struct Progress {
    Opened upload = {};
    std::size_t offset = 0;
    bool in_chunks = false;
    std::size_t shortfalls_left = 0;  // how often less may still arrive than was sent
    TransferProgress& told;

    // Counts once more; false: that was too often.
    bool may_fall_short() {
      if (shortfalls_left > 0) --shortfalls_left;
      return shortfalls_left > 0;
    }
  };
  // BrokenOff: the connection, or the registry, failed. Misplaced: the registry doesn't take that part
  // there. Refused: it takes no such parts, or puts them together in another way.
  enum class Sending : std::uint8_t { Done, BrokenOff, Misplaced, Refused };
  Result<http::Response> put_blob(const oci::Repository& repository, const std::string& location,
                                  const std::string& digest, std::shared_ptr<const http::BodySource> body,
                                  const Context& context);
  Result<std::string> upload_address(const oci::Repository& repository, const std::string& asked,
                                     const http::Response& response) const;
  Status send_whole(const oci::Repository& repository, const Bytes& blob, std::optional<Opened> opened,
                    TransferProgress& told, const Context& context);
  Result<Sending> send_part(const oci::Repository& repository, const BlobBytes& bytes, std::size_t size,
                            Progress& progress, const Context& context);
  Result<Sending> send_parts(const oci::Repository& repository, const BlobBytes& bytes, Progress& progress,
                             const Context& context);
  Result<bool> find_offset(const oci::Repository& repository, std::size_t size, Progress& progress,
                           const Context& context);
  Result<Sending> finish(const oci::Repository& repository, const Bytes& blob, const std::string& location,
                         const Context& context);
  Result<Sending> send_large(const oci::Repository& repository, const Bytes& blob,
                             std::optional<Opened> opened, TransferProgress& told, const Context& context);

  OciExchange& registry_;
  const Sizes sizes_;
  EventSink* const events_;
};

}  // namespace mist::registry
