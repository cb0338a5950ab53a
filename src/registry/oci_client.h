#pragma once
// OciClient: the operations of the OCI distribution specification 1.1 that we need, on any registry, by way
// of one Transport. All that comes is bounded and compared with its digest before anybody sees it. How a
// registry is reached: oci_exchange.h. Any thread.

#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/event.h"
#include "base/result.h"
#include "http/resolve.h"
#include "http/transport.h"
#include "oci/layout.h"
#include "oci/manifest.h"
#include "oci/reference.h"
#include "registry/oci_exchange.h"
#include "registry/oci_store.h"
#include "registry/oci_upload.h"

namespace mist::registry {

class OciClient final : public OciTarget {
 public:
  struct Options {
    bool plain_http = false;                         ///< also to other machines
    http::Resolver resolve = http::resolve_host;     ///< tells whether a registry is at a private address
    std::size_t large_from = std::size_t{32} << 20;  ///< blobs that large go on where they broke off
    /// Of each chunk then. Measured with the CNCF registry, 8 MiB took twice as long as a blob in one piece,
    /// 16 MiB 1.4 times.
    std::size_t chunk_bytes = std::size_t{16} << 20;
    /// A blob that is smaller is sent without the question whether it is there: two requests instead of
    /// three, and mostly it isn't.
    static constexpr std::size_t kAskedFrom = std::size_t{32} << 10;
    EventSink* events = nullptr;  ///< hears how far large blobs are; outlives the client; null: nobody does
  };
  /// `transport` outlives this; it repeats what may be repeated (http::RetryingTransport).
  OciClient(http::Transport& transport, FindLogin logins, Options options);

  // Errors of all: Forbidden (no credentials, or refused), Retryable (network, 429, 5xx), Invalid (an answer
  // that can't be understood, or is too large), Timeout, Cancelled, of FindLogin.

  Result<RawManifest> manifest(const oci::Repository& repository, const std::string& tag,
                               const Context& context) override;
  Result<std::optional<RawManifest>> find_manifest(const oci::Repository& repository, const std::string& tag,
                                                   const Context& context) override;
  /// By the referrers API or, where there is none, by the index under the tag that stands for it
  /// (distribution specification, "Listing Referrers").
  Result<std::vector<oci::Descriptor>> referrers(const oci::Repository& repository,
                                                 const crypto::Digest& manifest,
                                                 std::string_view artifact_type,
                                                 const Context& context) override;
  /// The digest that the tag points to; nothing if there is no such tag. `access`: what is done next, so that
  /// one token does for both.
  Result<std::optional<crypto::Digest>> digest_of(const oci::Repository& repository, const std::string& tag,
                                                  const Context& context,
                                                  oci::Access access = oci::Access::Push);
  Result<std::optional<crypto::Digest>> read_digest(const oci::Repository& repository, const std::string& tag,
                                                    const Context& context) override {
    return digest_of(repository, tag, context, oci::Access::Pull);
  }
  Result<std::optional<crypto::Digest>> find_digest(const oci::Repository& repository, const std::string& tag,
                                                    const Context& context) override {
    return digest_of(repository, tag, context);
  }
  Result<std::string> blob(const oci::Repository& repository, const oci::Descriptor& descriptor,
                           std::uint64_t limit, const Context& context) override;
  Status stream_blob(const oci::Repository& repository, const oci::Descriptor& descriptor,
                     std::uint64_t limit, const ByteSink& sink, const Context& context) override;
  Result<std::vector<std::string>> tags(const oci::Repository& repository, const Context& context) override;

  /// All repositories of a registry, as far as it lists them (`_catalog`): many don't. Errors: Invalid (it
  /// doesn't).
  Result<std::vector<std::string>> repositories(const std::string& host, const Context& context);

  /// An upload that breaks off, or that the registry forgot, is begun again; a large one goes on where the
  /// registry has got to, if it says where that is.
  Status push_blob(const oci::Repository& repository, const oci::Blob& blob, const Context& context) override;
  Result<bool> has_blob(const oci::Repository& repository, const oci::Descriptor& descriptor,
                        const Context& context) override {
    return upload_.has_blob(repository, descriptor.digest.str(), context);
  }
  /// Within one registry it is mounted, where the registry can do that. Of a file no more than a buffer is in
  /// memory while it is sent.
  Result<Moved> take_blob(OciSource& source, const oci::Repository& from, const oci::Repository& to,
                          const oci::Descriptor& descriptor, std::uint64_t limit,
                          const Context& context) override;
  Result<bool> put_manifest(const oci::Repository& repository, const std::string& tag,
                            const std::string& manifest, std::string_view media_type,
                            const Context& context) override;
  /// Its blobs must be there. `tag`: also a digest's text. `media_type`: of the bytes.
  Status push_manifest(const oci::Repository& repository, const std::string& tag, const std::string& manifest,
                       const Context& context, std::string_view media_type = oci::kManifestType);
  /// Removes a tag; of a digest's text the manifest, and with it all of its tags. NotFound; Invalid: the
  /// registry doesn't do that. Where its answer was lost, it is asked whether the manifest is still there.
  Status delete_manifest(const oci::Repository& repository, const std::string& tag, const Context& context);

  /// Whether the registry lets us in at all (`GET /v2/`). False: it does, and asked for no credentials.
  Result<bool> check_access(const std::string& host, const Context& context);

 private:
  Status each_page(OciCall call, std::string_view what,
                   const std::function<Status(const http::Response&)>& page, const Context& context);
  Error not_found(const oci::Repository& repository, const std::string& tag, const http::Response& response,
                  const Context& context);
  Result<http::Response> ask_for_manifest(const oci::Repository& repository, const std::string& tag,
                                          const Context& context);
  Result<std::optional<oci::Index>> ask_for_referrers(const oci::Repository& repository,
                                                      const crypto::Digest& manifest,
                                                      std::string_view artifact_type, const Context& context);

  OciExchange exchange_;
  OciUpload upload_;
  const Options options_;
  std::mutex mutex_;
  std::set<std::string> without_referrers_;  // repositories that have no such API; guarded by mutex_
};

}  // namespace mist::registry
