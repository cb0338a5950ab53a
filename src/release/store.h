#pragma once
// Where releases live in a cluster: Secrets of type mistletoe.dev/release, written through kube::Client.
//   mistletoe.<name>                       the anchor; its head and lock are annotations, so metadata is
//   enough to list mistletoe.<name>.v<N>                  a revision, gzip of JSON; owned by the anchor, so
//   it can't outlive it for long mistletoe.<name>.v<N>.<attempt>.<i>    chunks of one that is larger than a
//   Secret may be
// Chunks are written before the Secret that names them. Blocking; any thread.

#include <optional>
#include <vector>

#include "base/context.h"
#include "kube/client.h"
#include "release/record.h"

namespace mist::release {

/// What a patch of the anchor changes; absent fields stay.
struct AnchorChange {
  std::optional<Head> head;
  std::optional<std::optional<Lock>> lock;  ///< inner nullopt: unlock
  std::optional<std::vector<std::string>> group_kinds;
  std::optional<std::vector<std::string>> additional_namespaces;
};

class Store {
 public:
  /// `chunk_bytes` is a test's handle; the default is below what a Secret may hold (1 MiB).
  explicit Store(kube::Client& client, std::size_t chunk_bytes = 800 * 1024)
      : client_(client), chunk_bytes_(chunk_bytes) {}

  /// nullopt: there is no such release.
  Result<std::optional<Anchor>> read_anchor(const ReleaseId& id, const Context& context);
  /// Anchors of one namespace, or of all when `ns` is empty, by namespace and name; from metadata only (no
  /// seeds).
  Result<std::vector<Anchor>> list_anchors(const std::string& ns, const Context& context);
  /// Conflict if it exists. Fills uid and resource_version.
  Result<Anchor> create_anchor(Anchor anchor, const Context& context);
  /// Guarded by anchor.resource_version: Conflict when somebody else changed it since. Updates `anchor`.
  Status change_anchor(Anchor& anchor, const AnchorChange& change, const Context& context);
  /// Guarded by uid.
  Status delete_anchor(const Anchor& anchor, const Context& context);

  /// Writes a pending revision: chunks, then the revision. Conflict if that number exists.
  Status create_revision(const Anchor& anchor, const Revision& revision, const Context& context);
  /// nullopt: it doesn't exist.
  Result<std::optional<Revision>> read_revision(const ReleaseId& id, int number, const Context& context);
  /// Every revision that is kept, ascending; from metadata only.
  Result<std::vector<RevisionSummary>> list_revisions(const ReleaseId& id, const Context& context);
  /// Stores status, message, time and the inventory as it is now.
  Status finish_revision(const Anchor& anchor, const Revision& revision, const Context& context);
  /// Deletes one revision, then its chunks. One that isn't there is fine.
  Status delete_revision(const ReleaseId& id, int number, const Context& context);
  /// Deletes every revision and chunk of the release.
  Status delete_revisions(const ReleaseId& id, const Context& context);
  /// Deletes the chunks that no revision names: what a killed writer left. Only under the lock. Returns the
  /// revisions that there are, ascending.
  Result<std::vector<RevisionSummary>> sweep_chunks(const ReleaseId& id, const Context& context);

  /// How the server serves Secrets; needs no discovery.
  static const kube::ResourceInfo& secrets();

 private:
  kube::ObjectRef secret(const ReleaseId& id, std::string name) const {
    return {secrets(), id.ns, std::move(name)};
  }
  Status delete_records(const ReleaseId& id, std::string_view record, int number, const Context& context);
  Status create_own(const ReleaseId& id, const Value& object, const Context& context);
  Result<Value> write_blob(const Anchor& anchor, const Revision& revision, std::string_view what,
                           const std::string& bytes, const Context& context);
  Result<std::string> read_blob(const ReleaseId& id, const Value& secret, std::string_view what,
                                const Context& context);

  kube::Client& client_;
  std::size_t chunk_bytes_;
};

}  // namespace mist::release
