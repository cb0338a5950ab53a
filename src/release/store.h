#pragma once
// Where releases live in a cluster: Secrets of type mistletoe.dev/release, written through kube::Client.
//
//   mistletoe.<name>                     the anchor; its head and lock are annotations, so that a list
//                                        needs metadata only
//   mistletoe.<name>.v<N>                a revision, gzip of JSON. Nothing ties it to the anchor but its
//                                        name and labels: what is restored from a backup has other uids, and
//                                        the garbage collector deletes what an older uid owns
//   mistletoe.<name>.v<N>.<attempt>.<i>  chunks of one that is too large for that
//
// Chunks are written before the Secret that names them, and deleted after none does. Blocking; any thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/context.h"
#include "kube/client.h"
#include "kube/deletion.h"
#include "release/record.h"

namespace mist::release {

/// The changes of a patch of the anchor; absent fields stay.
struct AnchorChange {
  std::optional<Head> head;
  std::optional<std::optional<Lock>> lock;  ///< inner nullopt: unlock
  std::optional<std::vector<std::string>> group_kinds;
  std::optional<std::vector<std::string>> additional_namespaces;
  std::optional<Seals> seals = {};  ///< with a key, for an anchor that has none
};

/// Size limits, in packed bytes. A server takes 1 MiB of decoded data in a Secret, all its keys together
/// (ValidateSecret of Kubernetes), and answers 422 to more.
struct StoreLimits {
  /// Of a record or an inventory that lies in its revision itself, as base64 in JSON, so with a third more.
  /// Both must fit there: whether the inventory does is known only when the objects are written.
  std::size_t inline_bytes = 256 * 1024;
  /// Of a chunk, whose Secret holds it as it is and nothing else.
  std::size_t chunk_bytes = 800 * 1024;
};

/// Of what a record may be, unpacked, to be read again: a larger one is taken for a forged bomb.
struct RecordLimits {
  std::size_t bytes = std::size_t{512} << 20;
  std::size_t values = 10'000'000;  ///< of its JSON; some 100,000 objects
};

class Store {
 public:
  /// Other limits than these are a test's handle.
  explicit Store(kube::Client& client, StoreLimits limits = {}) : client_(client), limits_(limits) {}

  /// nullopt: there is no such release. Of a damaged one what can be read, see Anchor::damage.
  Result<std::optional<Anchor>> read_anchor(const ReleaseId& id, const Context& context);
  /// Anchors of one namespace, or of all when `ns` is empty, by namespace and name; from metadata only (no
  /// seeds).
  Result<std::vector<Anchor>> list_anchors(const std::string& ns, const Context& context);
  /// Conflict if it exists. Fills uid and resource_version.
  Result<Anchor> create_anchor(Anchor anchor, const Context& context);
  /// Guarded by anchor.resource_version: Conflict when somebody else changed it since. Updates `anchor`.
  Status change_anchor(Anchor& anchor, const AnchorChange& change, const Context& context);
  /// Seed and clock, for an anchor that lost them; sealed if it has a key. Under the lock.
  Status put_fixed_inputs(const Anchor& anchor, const SecretString& seed, const std::string& clock,
                          const Context& context);
  /// Of the lock's holder: Conflict if the lock in it isn't that of `anchor` any more.
  Status delete_anchor(const Anchor& anchor, const Context& context);

  /// A revision as create_revision() stores it. It takes milliseconds for a thousand objects and nothing of
  /// the cluster, so it may be made while the cluster is asked for something else. Invalid: it is so
  /// large, or nests so deep, that it could not be read again. Internal: no memory.
  static Result<std::string> pack(const Revision& revision, const RecordLimits& limits = {});
  /// Writes a pending revision, `packed` by pack(): chunks, then the revision. Conflict if that number
  /// exists.
  Status create_revision(const Anchor& anchor, const Revision& revision, const std::string& packed,
                         const Context& context);
  /// nullopt: it doesn't exist. Internal: it is damaged, a chunk is missing, or its seal isn't that of the
  /// anchor, of which the seals must be known.
  Result<std::optional<Revision>> read_revision(const Anchor& anchor, int number, const Context& context);
  /// Every revision that is kept, ascending; from metadata only.
  Result<std::vector<RevisionSummary>> list_revisions(const ReleaseId& id, const Context& context);
  /// Stores status, message, time and the inventory as it is now. May be repeated, with another inventory
  /// too: whoever reads meanwhile finds the old one or the new one. Chunks of the old one are left to
  /// sweep_chunks().
  Status finish_revision(const Anchor& anchor, const Revision& revision, const Context& context);
  /// Deletes one revision as it was listed, then its chunks. One that isn't there is fine, and another one of
  /// that number stays. Only under the lock and with its context, like all that deletes here: a chunk's name
  /// comes from what is in it, so a process that slept would delete what a later holder has stored under the
  /// same name.
  Status delete_revision(const ReleaseId& id, const RevisionSummary& revision, const Context& context);
  /// Deletes every revision and chunk of the release, and those of `known`, which a lost label may hide.
  Status delete_revisions(const ReleaseId& id, const std::set<int>& known, const Context& context);
  /// Deletes the chunks that no revision names: what a killed writer left, and inventories that were written
  /// again. A revision that lost its labels or its attempt keeps its chunks. Removes the ownerReferences that
  /// earlier versions gave to revisions and chunks. Returns the revisions that there are, ascending.
  Result<std::vector<RevisionSummary>> sweep_chunks(const ReleaseId& id, const Context& context);
  /// Gives a revision that was read by its name the labels by which it is listed and deleted. One that isn't
  /// there any more is fine.
  Status restore_labels(const Anchor& anchor, const Revision& revision, const Context& context);

  /// How the server serves Secrets; needs no discovery.
  static const kube::ResourceInfo& secrets();

 private:
  kube::ObjectRef secret(const ReleaseId& id, std::string name) const {
    return {secrets(), id.ns, std::move(name)};
  }
  Status find_head(Anchor& anchor, const Context& context);
  Status disown(const ReleaseId& id, const Value& item, const Context& context);
  /// Returns the names.
  Result<std::set<std::string>> delete_records(const ReleaseId& id, std::string_view record, int number,
                                               const Context& context);
  Status delete_listed(const ReleaseId& id, const Value& item, const Context& context);
  Status delete_secret(const ReleaseId& id, std::string name, const kube::DeletionTarget& target,
                       const Context& context);
  Status create_own(const ReleaseId& id, const Value& object, const Context& context);
  Result<Value> write_blob(const Anchor& anchor, const Revision& revision, std::string_view what,
                           const std::string& packed, std::size_t inline_bytes, const Context& context);
  Result<std::string> read_blob(const ReleaseId& id, const Value& secret, std::string_view what,
                                const Context& context);
  Result<Value> read_json(const ReleaseId& id, const Value& secret, std::string_view what,
                          const Context& context);
  Result<Revision> revision_from_secret(const Anchor& anchor, int number, const Value& secret,
                                        const Context& context);
  Status put_inventory(const Anchor& anchor, const Revision& revision, const std::string& packed,
                       std::size_t inline_bytes, const Context& context);
  Result<std::optional<std::int64_t>> inventory_set(const ReleaseId& id, const std::string& revision,
                                                    const Context& context);

  Result<bool> has_revision(const ReleaseId& id, const std::string& revision, std::string_view attempt,
                            const Context& context);

  kube::Client& client_;
  StoreLimits limits_;
};

}  // namespace mist::release
