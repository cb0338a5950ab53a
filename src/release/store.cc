#include "release/store.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/parallel.h"
#include "base/text.h"
#include "crypto/digest.h"
#include "encoding/gzip.h"
#include "encoding/json.h"
#include "kube/api_failure.h"
#include "release/record_secrets.h"

namespace mist::release {
namespace {

constexpr RecordLimits kRecordLimits;

// Of a record, as parse_json() counts them.
struct RecordExtent {
  std::size_t values = 0;
  int depth = 0;  // of nested arrays and objects
};

void measure(const Value& value, int depth, RecordExtent& extent) {
  ++extent.values;
  if (!value.is_array() && !value.is_object()) return;
  extent.depth = std::max(extent.depth, ++depth);
  if (value.is_array())
    for (const Value& entry : value.as_array()) measure(entry, depth, extent);
  else
    for (const auto& [key, member] : value.as_object()) measure(member, depth, extent);
}

std::string why_unreadable(const RecordExtent& extent, std::size_t bytes, const RecordLimits& limits) {
  if (const int most = encoding::JsonOptions().max_depth; extent.depth > most)
    return fmt::format("it nests more than {} levels deep", most);
  if (extent.values > limits.values)
    return fmt::format("it has {} values, and may have {}", extent.values, limits.values);
  if (bytes > limits.bytes) return fmt::format("it has {} bytes, and may have {}", bytes, limits.bytes);
  return {};
}

// Two blobs of that size, each with what describes it, beside one another in a Secret.
constexpr std::size_t kSecretLimit = std::size_t{1} << 20;
static_assert(2 * (StoreLimits().inline_bytes * 4 / 3 + 1024) < kSecretLimit);
static_assert(StoreLimits().chunk_bytes < kSecretLimit);

// Chunks are numbered in sets of this many, more than a blob has: the record's are set 0.
constexpr std::int64_t kSet = 1000;

std::string record_selector(const ReleaseId& id, std::string_view record) {
  return fmt::format("{}={},{}={}", apply::kRecordOfLabel, id.name, apply::kRecordLabel, record);
}

Value owner_reference(const std::string& name, const std::string& uid) {
  return Value::object({{"apiVersion", "v1"}, {"kind", "Secret"}, {"name", name}, {"uid", uid}});
}

Value owned_labels(const Anchor& anchor, const Revision& revision, std::string_view record) {
  return Value::object({{apply::kRecordLabel, record},
                        {apply::kRecordOfLabel, anchor.id.name},
                        {apply::kRevisionLabel, fmt::format("v{}", revision.number)}});
}

Value owned_metadata(const Anchor& anchor, const Revision& revision, std::string name,
                     std::string_view record) {
  return Value::object({{"name", std::move(name)},
                        {"namespace", anchor.id.ns},
                        {"labels", owned_labels(anchor, revision, record)},
                        {"annotations", Value::object({{apply::kAttemptAnnotation, revision.attempt}})}});
}

// No release's own name has a dot.
Value anchor_labels(const ReleaseId& id) {
  return Value::object({{apply::kRecordLabel, id.name.contains('.') ? kTestsRecord : "anchor"},
                        {apply::kRecordOfLabel, id.name},
                        {apply::kApplySetIdLabel, apply::apply_set_id(id)}});
}

// The set of an inventory's chunks. It may be written again, while what its revision names must stay readable
// until that names the new one: so other bytes have other names. Set 1 is that of earlier versions, which had
// no other. 40 bits of a digest; should two be alike after all, create_own() tells them apart.
std::int64_t inventory_set_of(const crypto::Digest& digest) {
  std::int64_t number = 0;
  for (std::size_t i = 0; i < 5; ++i) number = number << 8 | std::to_integer<std::int64_t>(digest.bytes()[i]);
  return 2 + number;
}

// The set that a chunk is of, by its name; -1: it is not a chunk's.
std::int64_t set_of(std::string_view chunk_name) {
  const std::string_view text = chunk_name.substr(chunk_name.rfind('.') + 1);
  std::int64_t number = -1;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() && number >= 0 ? number / kSet : -1;
}

// The Secret of a revision, and the token of the run, that a chunk is of by its name.
struct ChunkOwner {
  std::string revision, attempt;
  auto operator<=>(const ChunkOwner&) const = default;
};

// nullopt: it is not a chunk's name.
std::optional<ChunkOwner> owner_by_name(const ReleaseId& id, std::string_view chunk_name) {
  const std::size_t number = chunk_name.rfind('.');
  const std::size_t attempt = chunk_name.substr(0, number).rfind('.');
  if (attempt == std::string_view::npos || attempt <= apply::anchor_name(id).size()) return std::nullopt;
  return ChunkOwner{std::string(chunk_name.substr(0, attempt)),
                    std::string(chunk_name.substr(attempt + 1, number - attempt - 1))};
}

Result<Value> blob_ref(const ReleaseId& id, const Value& secret, std::string_view what) {
  std::string text;
  if (!base64_decode(secret.string_at({"data", what}), text))
    return damaged_record(id, secret, "it is not base64");
  auto ref = encoding::parse_json(text);
  if (!ref.ok()) return damaged_record(id, secret, "its description can't be read");
  return ref;
}

// Labels are anybody's to copy, onto whatever Secret: what is deleted as a revision or a chunk has the name
// of one too.
bool is_part_of(const ReleaseId& id, const Value& item) {
  return item.string_at({"metadata", "name"}).starts_with(apply::anchor_name(id) + ".v");
}

}  // namespace

const kube::ResourceInfo& Store::secrets() {
  static const kube::ResourceInfo info{{"", "v1", "Secret"}, "secrets", true, {}};
  return info;
}

Result<std::optional<Anchor>> Store::read_anchor(const ReleaseId& id, const Context& context) {
  auto secret_value = client_.get(secret(id, apply::anchor_name(id)), context);
  if (!secret_value) {
    if (kube::is_absent(secret_value.error())) return std::optional<Anchor>();
    return std::move(secret_value)
        .error()
        .with_frame(fmt::format("while reading the record of release {}", id.display()));
  }
  MIST_TRY(Anchor anchor, anchor_from_secret(*secret_value, id));
  if (anchor.head_lost) MIST_TRY_VOID(find_head(anchor, context));
  return std::optional<Anchor>(std::move(anchor));
}

// The head as the revisions tell it: only one that was finished says that it is deployed, and the newest of
// these counts.
Status Store::find_head(Anchor& anchor, const Context& context) {
  MIST_TRY(const std::vector<RevisionSummary> revisions, list_revisions(anchor.id, context));
  Head head;
  for (const RevisionSummary& revision : revisions) {
    if (revision.number < 0) continue;
    if (revision.status == RevisionStatus::Deployed) head.deployed = revision.number;
    head.latest = revision.number;
    head.status = revision.status;
    head.action = revision.action;
    head.updated = revision.finished.empty() ? revision.created : revision.finished;
    head.package = revision.package;
    head.package_version = revision.package_version;
    head.objects = revision.objects;
  }
  anchor.head = std::move(head);
  anchor.head_lost = anchor.head.latest < 0;
  anchor.damage.push_back(fmt::format(
      "its annotation {} is missing or doesn't have the release's seal; {}", apply::kHeadAnnotation,
      anchor.head_lost ? std::string("no revision is kept that would tell it")
                       : fmt::format("its revisions say that the newest is v{}", anchor.head.latest)));
  return {};
}

Result<std::vector<Anchor>> Store::list_anchors(const std::string& ns, const Context& context) {
  kube::ListOptions options;
  options.ns = ns;
  options.label_selector = fmt::format("{}=anchor", apply::kRecordLabel);
  options.metadata_only = true;
  auto list = client_.list(secrets(), options, context).in("while listing releases");
  if (!list.ok()) {
    // Of a namespace many may ask who may not ask of all.
    if (ns.empty() && list.error().kind == ErrorKind::Forbidden)
      list.error().hint =
          "look at one namespace, with -n in place of -A, or ask an administrator for the right to list "
          "Secrets in all";
    return std::move(list).error();
  }
  std::vector<Anchor> anchors;
  for (const Value& item : list->items) {
    Anchor anchor = anchor_from_metadata(item);
    if (item.string_at({"metadata", "name"}) != apply::anchor_name(anchor.id)) continue;
    if (anchor.head_lost) MIST_TRY_VOID(find_head(anchor, context));
    anchors.push_back(std::move(anchor));
  }
  std::ranges::sort(anchors, {}, &Anchor::id);
  return anchors;
}

Result<Anchor> Store::create_anchor(Anchor anchor, const Context& context) {
  Value annotations = change_annotations(anchor.seals, anchor.id,
                                         {.head = anchor.head,
                                          .lock = anchor.lock,
                                          .group_kinds = anchor.group_kinds,
                                          .additional_namespaces = anchor.additional_namespaces});
  for (const std::string_view name : {apply::kLockAnnotation, apply::kCutAnnotation}) {
    if (const Value* value = annotations.find(name); value != nullptr && value->is_null())
      annotations.erase(name);
  }
  annotations.set(apply::kToolingAnnotation, "mistctl/v1");
  const bool of_tests = !anchor.tests_of.empty();
  Value metadata = Value::object({{"name", apply::anchor_name(anchor.id)},
                                  {"namespace", anchor.id.ns},
                                  {"labels", anchor_labels(anchor.id)},
                                  {"annotations", std::move(annotations)}});
  Value object = Value::object({{"apiVersion", "v1"}, {"kind", "Secret"}, {"type", apply::kRecordType}});
  if (of_tests)
    metadata.set("ownerReferences", Value::array({owner_reference(anchor.tests_of, anchor.tests_of_uid)}));
  else
    object.set("data", fixed_inputs_data(anchor.seals, anchor.id, anchor.seed, anchor.frozen_clock));
  object.set("metadata", std::move(metadata));
  MIST_TRY(const Value created,
           client_.create(secrets(), anchor.id.ns, object, context)
               .in(fmt::format("while creating the record of release {}", anchor.id.display())));
  return anchor_from_secret(created, anchor.id);
}

Status Store::change_anchor(Anchor& anchor, const AnchorChange& change, const Context& context) {
  const Seals& seals = change.seals ? *change.seals : anchor.seals;
  MIST_CHECK(seals.known(), "an anchor is written as it was read, and not from its metadata");
  Value patch = Value::object(
      {{"metadata", Value::object({{"uid", anchor.uid},
                                   {"resourceVersion", anchor.resource_version},
                                   {"labels", anchor_labels(anchor.id)},
                                   {"annotations", change_annotations(seals, anchor.id, change)}})}});
  if (change.seals) patch.set("data", fixed_inputs_data(seals, anchor.id, anchor.seed, anchor.frozen_clock));
  MIST_TRY(const Value changed,
           client_.merge_patch(secret(anchor.id, apply::anchor_name(anchor.id)), patch, context)
               .in(fmt::format("while writing the record of release {}", anchor.id.display())));
  anchor.resource_version = changed.string_at({"metadata", "resourceVersion"});
  if (change.seals) anchor.seals = *change.seals;
  if (change.head) anchor.head = *change.head;
  if (change.lock) anchor.lock = *change.lock;
  if (change.group_kinds) anchor.group_kinds = *change.group_kinds;
  if (change.additional_namespaces) anchor.additional_namespaces = *change.additional_namespaces;
  return {};
}

Status Store::put_fixed_inputs(const Anchor& anchor, const SecretString& seed, const std::string& clock,
                               const Context& context) {
  const Value patch = Value::object({{"metadata", Value::object({{"uid", anchor.uid}})},
                                     {"data", fixed_inputs_data(anchor.seals, anchor.id, seed, clock)}});
  MIST_TRY_VOID(client_.merge_patch(secret(anchor.id, apply::anchor_name(anchor.id)), patch, context)
                    .in(fmt::format("while writing the record of release {}", anchor.id.display())));
  return {};
}

// Gone, in whatever way; a 404 that isn't about the Secret is an error.
Status Store::delete_secret(const ReleaseId& id, std::string name, const kube::DeletionTarget& target,
                            const Context& context) {
  MIST_TRY_VOID(kube::delete_object(client_, secret(id, std::move(name)), target, context));
  return {};
}

Status Store::delete_anchor(const Anchor& anchor, const Context& context) {
  // Renewing the lock changes it too.
  const auto still_locked = [&](const Value& now) -> Status {
    const std::optional<Lock> lock = anchor_from_metadata(now).lock;
    const bool same =
        lock.has_value() == anchor.lock.has_value() && (!lock || lock->token == anchor.lock->token);
    if (same) return {};
    return error(ErrorKind::Conflict, "the lock of release {} was lost", anchor.id.display())
        .with_because(lock ? fmt::format("{} took it over for \"{}\"", lock->holder, lock->operation)
                           : "somebody took it away");
  };
  return delete_secret(
             anchor.id, apply::anchor_name(anchor.id),
             {.uid = anchor.uid, .resource_version = anchor.resource_version, .recheck = still_locked},
             context)
      .in(fmt::format("while deleting the record of release {}", anchor.id.display()));
}

// A create whose outcome is unknown (5xx, a broken connection) isn't safe to repeat by itself; looking first
// makes it so: the random attempt in it tells our own from anybody else's, its data this write from an
// earlier one. That look's own back-off paces us.
Status Store::create_own(const ReleaseId& id, const Value& object, const Context& context) {
  const auto same = [&](const Value& there) {
    const Value* data = there.find("data");
    return there.string_at({"metadata", "annotations", apply::kAttemptAnnotation}) ==
               object.string_at({"metadata", "annotations", apply::kAttemptAnnotation}) &&
           data != nullptr && *data == *object.find("data");
  };
  for (int tries = 1;; ++tries) {
    auto created = client_.create(secrets(), id.ns, object, context);
    if (created.ok()) return {};
    const ErrorKind kind = created.error().kind;
    // A Conflict may be with our own first try.
    if ((kind != ErrorKind::Retryable && kind != ErrorKind::Conflict) || tries == 4)
      return std::move(created).error();
    auto there = client_.get(secret(id, std::string(object.string_at({"metadata", "name"}))), context);
    if (there.ok() && same(*there)) return {};
    if (there.ok() || !kube::is_absent(there.error())) return std::move(created).error();
  }
}

// A blob is {"inline": base64} or {"first": i, "count": n}, with the digest of the packed bytes.
Result<Value> Store::write_blob(const Anchor& anchor, const Revision& revision, std::string_view what,
                                const std::string& packed, std::size_t inline_bytes, const Context& context) {
  const crypto::Digest digest = crypto::sha256(packed);
  Value ref = Value::object({{"digest", digest.str()}, {"size", packed.size()}});
  if (packed.size() <= inline_bytes) {
    ref.set("inline", base64_encode(packed));
    return ref;
  }
  const std::int64_t first = what == "inventory" ? inventory_set_of(digest) * kSet : 0;
  const std::size_t size = limits_.chunk_bytes;
  const std::size_t count = (packed.size() + size - 1) / size;
  MIST_TRY_VOID(parallel_for(count, 8, [&](std::size_t i) -> Status {
    const std::string name = fmt::format("{}.{}.{}", revision_name(anchor.id, revision.number),
                                         revision.attempt, first + static_cast<std::int64_t>(i));
    const std::string_view part = std::string_view(packed).substr(i * size, size);
    const Value chunk = Value::object({{"apiVersion", "v1"},
                                       {"kind", "Secret"},
                                       {"type", apply::kRecordType},
                                       {"immutable", true},
                                       {"metadata", owned_metadata(anchor, revision, name, "chunk")},
                                       {"data", Value::object({{"chunk", base64_encode(part)}})}});
    return create_own(anchor.id, chunk, context);
  }));
  ref.set("first", first);
  ref.set("count", count);
  return ref;
}

// Still packed. NotFound: a chunk is missing.
Result<std::string> Store::read_blob(const ReleaseId& id, const Value& secret_value, std::string_view what,
                                     const Context& context) {
  MIST_TRY(const Value ref, blob_ref(id, secret_value, what));
  std::string packed;
  if (const Value* whole = ref.find("inline"); whole != nullptr && whole->is_string()) {
    if (!base64_decode(whole->as_string(), packed))
      return damaged_record(id, secret_value, "it is not base64");
  } else {
    const Value* first = ref.find("first");
    const Value* count = ref.find("count");
    if (first == nullptr || count == nullptr || !first->is_int() || !count->is_int() || count->as_int() < 1 ||
        count->as_int() > kSet)
      return damaged_record(id, secret_value, "its description can't be read");
    std::vector<std::string> parts(static_cast<std::size_t>(count->as_int()));
    MIST_TRY_VOID(parallel_for(parts.size(), 8, [&](std::size_t i) -> Status {
      const std::string name =
          fmt::format("{}.{}.{}", secret_value.string_at({"metadata", "name"}),
                      secret_value.string_at({"metadata", "annotations", apply::kAttemptAnnotation}),
                      first->as_int() + static_cast<std::int64_t>(i));
      MIST_TRY(const Value chunk, client_.get(secret(id, name), context));
      if (!base64_decode(chunk.string_at({"data", "chunk"}), parts[i]))
        return damaged_record(id, secret_value, "a part is not base64");
      return {};
    }));
    for (const std::string& part : parts) packed += part;
  }
  if (crypto::sha256(packed).str() != ref.string_at("digest"))
    return damaged_record(id, secret_value, "its digest doesn't match its bytes");
  return packed;
}

Result<Value> Store::read_json(const ReleaseId& id, const Value& secret_value, std::string_view what,
                               const Context& context) {
  MIST_TRY(const std::string packed, read_blob(id, secret_value, what, context));
  auto text = encoding::gunzip(packed, kRecordLimits.bytes);
  if (!text.ok()) return damaged_record(id, secret_value, text.error().to_line());
  auto value = encoding::parse_json(*text, {.max_values = kRecordLimits.values});
  if (!value.ok()) return damaged_record(id, secret_value, value.error().to_line());
  return value;
}

Result<std::string> Store::pack(const Revision& revision, const RecordLimits& limits) {
  const Value record = to_value(revision);
  const std::string text = encoding::to_json(record, encoding::JsonStyle::Exact);
  RecordExtent extent;
  measure(record, 0, extent);
  if (const std::string why = why_unreadable(extent, text.size(), limits); !why.empty())
    return error(ErrorKind::Invalid, "the record of revision {} would be too large to be read again",
                 revision.number)
        .with_because(why)
        .with_hint("split the package into several releases, or keep less in its values");
  return encoding::gzip(text).in(fmt::format("while packing revision {}", revision.number));
}

Status Store::create_revision(const Anchor& anchor, const Revision& revision, const std::string& packed,
                              const Context& context) {
  const std::string frame =
      fmt::format("while storing revision {} of release {}", revision.number, anchor.id.display());
  MIST_TRY(const Value record,
           write_blob(anchor, revision, "record", packed, limits_.inline_bytes, context).in(frame));
  Value metadata = owned_metadata(anchor, revision, revision_name(anchor.id, revision.number), "revision");
  metadata["annotations"].set(apply::kStatusAnnotation, to_string(revision.status));
  metadata["annotations"].set(apply::kSummaryAnnotation, summary_annotation(revision));
  const std::string text = encoding::to_json(record, encoding::JsonStyle::Exact);
  Value data = Value::object({{"record", base64_encode(text)}});
  if (const auto seal = revision_seal(anchor, revision, text)) data.set("recordSeal", base64_encode(*seal));
  const Value object = Value::object({{"apiVersion", "v1"},
                                      {"kind", "Secret"},
                                      {"type", apply::kRecordType},
                                      {"metadata", std::move(metadata)},
                                      {"data", std::move(data)}});
  return create_own(anchor.id, object, context).in(frame);
}

Result<Revision> Store::revision_from_secret(const Anchor& anchor, int number, const Value& secret_value,
                                             const Context& context) {
  const ReleaseId& id = anchor.id;
  MIST_TRY_VOID(check_seals(anchor, number, secret_value));
  MIST_TRY(const Value record, read_json(id, secret_value, "record", context));
  MIST_TRY(Revision revision, revision_from_value(record));
  if (revision.number != number)
    return damaged_record(id, secret_value, fmt::format("it holds revision v{}", revision.number));
  if (secret_value.at_path({"data", "inventory"}) != nullptr) {
    MIST_TRY(const Value inventory, read_json(id, secret_value, "inventory", context));
    MIST_TRY(revision.inventory, inventory_from_value(inventory));
  }
  const auto annotation = [&](std::string_view name) {
    return secret_value.string_at({"metadata", "annotations", name});
  };
  revision.status = revision_status(annotation(apply::kStatusAnnotation)).value_or(RevisionStatus::Pending);
  revision.message = annotation(apply::kMessageAnnotation);
  revision.finished = annotation(apply::kFinishedAnnotation);
  return revision;
}

Result<std::optional<Revision>> Store::read_revision(const Anchor& anchor, int number,
                                                     const Context& context) {
  const ReleaseId& id = anchor.id;
  MIST_CHECK(anchor.seals.known(), "a revision is read by an anchor that was read whole");
  const std::string frame = fmt::format("while reading revision {} of release {}", number, id.display());
  std::string seen;
  while (true) {
    auto found = client_.get(secret(id, revision_name(id, number)), context);
    if (!found) {
      if (kube::is_absent(found.error())) return std::optional<Revision>();
      return std::move(found).error().with_frame(frame);
    }
    auto revision = revision_from_secret(anchor, number, *found, context);
    if (revision.ok()) return std::optional<Revision>(*std::move(revision));
    if (!kube::is_absent(revision.error())) return std::move(revision).error().with_frame(frame);
    // Between our reads it may have got another inventory, or have been deleted; what is as it was is
    // damaged.
    const std::string version(found->string_at({"metadata", "resourceVersion"}));
    if (version == seen)
      return damaged_record(id, *found, fmt::format("a part is missing: {}", revision.error().to_line()))
          .with_frame(frame);
    seen = version;
  }
}

Status Store::finish_revision(const Anchor& anchor, const Revision& revision, const Context& context) {
  const std::string frame =
      fmt::format("while finishing revision {} of release {}", revision.number, anchor.id.display());
  MIST_TRY(const std::string packed,
           encoding::gzip(encoding::to_json(to_value(revision.inventory))).in(frame));
  Status finished = put_inventory(anchor, revision, packed, limits_.inline_bytes, context);
  // Earlier versions let the record itself fill its Secret.
  if (!finished && finished.error().kind == ErrorKind::Invalid && packed.size() <= limits_.inline_bytes)
    finished = put_inventory(anchor, revision, packed, 0, context);
  return std::move(finished).in(frame);
}

Status Store::put_inventory(const Anchor& anchor, const Revision& revision, const std::string& packed,
                            std::size_t inline_bytes, const Context& context) {
  MIST_TRY(const Value inventory, write_blob(anchor, revision, "inventory", packed, inline_bytes, context));
  Value annotations = Value::object({{apply::kStatusAnnotation, to_string(revision.status)},
                                     {apply::kFinishedAnnotation, revision.finished}});
  // A message never carries values of objects; bounded, since annotations are.
  if (!revision.message.empty()) annotations.set(apply::kMessageAnnotation, revision.message.substr(0, 4096));
  const std::string text = encoding::to_json(inventory);
  Value data = Value::object({{"inventory", base64_encode(text)}});
  if (const auto seal = inventory_seal(anchor, revision, text))
    data.set("inventorySeal", base64_encode(*seal));
  if (!revision.attempt.empty()) annotations.set(apply::kAttemptAnnotation, revision.attempt);
  const Value patch =
      Value::object({{"metadata", Value::object({{"labels", owned_labels(anchor, revision, "revision")},
                                                 {"annotations", std::move(annotations)}})},
                     {"data", std::move(data)}});
  const kube::ObjectRef ref = secret(anchor.id, revision_name(anchor.id, revision.number));
  for (int tries = 1;; ++tries) {
    auto patched = client_.merge_patch(ref, patch, context);
    if (patched.ok()) return {};
    // A second time it changes nothing more; reading first leaves the back-off to the client.
    const bool again = patched.error().kind == ErrorKind::Retryable && tries < 4;
    if (!again || !client_.get(ref, context).ok()) return std::move(patched).error();
  }
}

Result<std::vector<RevisionSummary>> Store::list_revisions(const ReleaseId& id, const Context& context) {
  kube::ListOptions options;
  options.ns = id.ns;
  options.label_selector = record_selector(id, "revision");
  options.metadata_only = true;
  MIST_TRY(const kube::ObjectList list,
           client_.list(secrets(), options, context)
               .in(fmt::format("while listing the revisions of release {}", id.display())));
  std::vector<RevisionSummary> revisions;
  for (const Value& item : list.items) {
    RevisionSummary summary = summary_from_metadata(item);
    // Labels are anybody's to copy, onto whatever Secret.
    if (item.string_at({"metadata", "name"}) == revision_name(id, summary.number))
      revisions.push_back(std::move(summary));
  }
  std::ranges::sort(revisions, {}, &RevisionSummary::number);
  return revisions;
}

// That very object, if it is still there.
Status Store::delete_listed(const ReleaseId& id, const Value& item, const Context& context) {
  return delete_secret(id, std::string(item.string_at({"metadata", "name"})),
                       {.uid = std::string(item.string_at({"metadata", "uid"})),
                        .resource_version = std::string(item.string_at({"metadata", "resourceVersion"}))},
                       context);
}

// Earlier versions tied revisions and chunks to their anchor. Restored from a backup, where all uids are
// others, the garbage collector would delete them again.
Status Store::disown(const ReleaseId& id, const Value& item, const Context& context) {
  const Value* owners = item.at_path({"metadata", "ownerReferences"});
  if (owners == nullptr || !owners->is_array()) return {};
  Value::Array others;
  for (const Value& owner : owners->as_array()) {
    if (owner.string_at("kind") != "Secret" || owner.string_at("name") != apply::anchor_name(id))
      others.push_back(owner);
  }
  if (others.size() == owners->size()) return {};
  const Value patch = Value::object(
      {{"metadata", Value::object({{"uid", item.string_at({"metadata", "uid"})},
                                   {"resourceVersion", item.string_at({"metadata", "resourceVersion"})},
                                   {"ownerReferences", Value(std::move(others))}})}});
  auto patched =
      client_.merge_patch(secret(id, std::string(item.string_at({"metadata", "name"}))), patch, context);
  // Gone, or changed by somebody: the next write looks again.
  const bool later = !patched.ok() && (patched.error().kind == ErrorKind::NotFound ||
                                       patched.error().kind == ErrorKind::Conflict);
  if (!patched.ok() && !later) return std::move(patched).error();
  return {};
}

// Of one revision, or of all when `number` is negative.
Result<std::set<std::string>> Store::delete_records(const ReleaseId& id, std::string_view record, int number,
                                                    const Context& context) {
  kube::ListOptions options;
  options.ns = id.ns;
  options.label_selector = record_selector(id, record);
  if (number >= 0) options.label_selector += fmt::format(",{}=v{}", apply::kRevisionLabel, number);
  options.metadata_only = true;
  MIST_TRY(const kube::ObjectList list, client_.list(secrets(), options, context));
  MIST_TRY_VOID(parallel_for(list.items.size(), 8, [&](std::size_t i) -> Status {
    if (!is_part_of(id, list.items[i])) return {};
    return delete_listed(id, list.items[i], context);
  }));
  std::set<std::string> names;
  for (const Value& each : list.items) names.emplace(each.string_at({"metadata", "name"}));
  return names;
}

// Revisions before chunks: a chunk without its revision is rubbish, a revision without its chunks is damage.
Status Store::delete_revision(const ReleaseId& id, const RevisionSummary& revision, const Context& context) {
  MIST_TRY_VOID(delete_secret(id, revision_name(id, revision.number),
                              {.uid = revision.uid, .resource_version = revision.resource_version}, context));
  MIST_TRY_VOID(delete_records(id, "chunk", revision.number, context));
  return {};
}

Status Store::delete_revisions(const ReleaseId& id, const std::set<int>& known, const Context& context) {
  MIST_TRY(const std::set<std::string> listed, delete_records(id, "revision", -1, context));
  for (const int number : known) {
    const std::string name = revision_name(id, number);
    if (listed.contains(name)) continue;
    const auto found = client_.get(secret(id, name), context);
    if (!found.ok() && kube::is_absent(found.error())) continue;
    if (!found.ok()) return found.error();
    MIST_TRY_VOID(delete_listed(id, *found, context));
  }
  MIST_TRY_VOID(delete_records(id, "chunk", -1, context));
  return {};
}

// The set of chunks that a revision's inventory is in; 0: in none. nullopt: nobody can tell.
Result<std::optional<std::int64_t>> Store::inventory_set(const ReleaseId& id, const std::string& revision,
                                                         const Context& context) {
  MIST_TRY(const Value found, client_.get(secret(id, revision), context));
  if (found.at_path({"data", "inventory"}) == nullptr) return std::optional<std::int64_t>(0);
  const auto ref = blob_ref(id, found, "inventory");
  if (!ref.ok()) return std::optional<std::int64_t>();
  if (ref->find("inline") != nullptr) return std::optional<std::int64_t>(0);
  const Value* first = ref->find("first");
  if (first == nullptr || !first->is_int()) return std::optional<std::int64_t>();
  return std::optional(first->as_int() / kSet);
}

// Whether there is a revision that a run may have written; its labels and its annotation may be lost.
Result<bool> Store::has_revision(const ReleaseId& id, const std::string& revision, std::string_view attempt,
                                 const Context& context) {
  auto found = client_.get(secret(id, revision), context);
  if (!found.ok() && kube::is_absent(found.error())) return false;
  if (!found.ok()) return std::move(found).error();
  const std::string_view written = found->string_at({"metadata", "annotations", apply::kAttemptAnnotation});
  return written.empty() || written == attempt;
}

Result<std::vector<RevisionSummary>> Store::sweep_chunks(const ReleaseId& id, const Context& context) {
  kube::ListOptions options;
  options.ns = id.ns;
  options.label_selector =
      fmt::format("{}={},{} in (chunk,revision)", apply::kRecordOfLabel, id.name, apply::kRecordLabel);
  options.metadata_only = true;
  MIST_TRY(kube::ObjectList list, client_.list(secrets(), options, context));
  std::erase_if(list.items, [&](const Value& item) { return !is_part_of(id, item); });
  using Attempt = std::pair<std::string, std::string>;  // revision, token of its run
  struct Chunks {
    Attempt attempt;
    bool inventory = false;                  // there are some of an inventory
    std::optional<std::int64_t> named = {};  // the set that counts; nullopt: all of them
  };
  std::vector<Chunks> living;
  std::vector<RevisionSummary> revisions;
  MIST_TRY_VOID(
      parallel_for(list.items.size(), 8, [&](std::size_t i) { return disown(id, list.items[i], context); }));
  const auto is = [](const Value& item, std::string_view record) {
    return item.string_at({"metadata", "labels", apply::kRecordLabel}) == record;
  };
  const auto attempt_of = [](const Value& item) {
    return Attempt{item.string_at({"metadata", "labels", apply::kRevisionLabel}),
                   item.string_at({"metadata", "annotations", apply::kAttemptAnnotation})};
  };
  const auto set_at = [](const Value& item) { return set_of(item.string_at({"metadata", "name"})); };
  for (const Value& item : list.items) {
    if (!is(item, "revision")) continue;
    RevisionSummary summary = summary_from_metadata(item);
    if (item.string_at({"metadata", "name"}) != revision_name(id, summary.number)) continue;
    revisions.push_back(std::move(summary));
    living.push_back({attempt_of(item)});
  }
  std::ranges::sort(revisions, {}, &RevisionSummary::number);
  std::ranges::sort(living, {}, &Chunks::attempt);
  const auto owner_of = [&](const Value& chunk) {
    const auto found = std::ranges::lower_bound(living, attempt_of(chunk), {}, &Chunks::attempt);
    return found != living.end() && found->attempt == attempt_of(chunk) ? &*found : nullptr;
  };
  for (const Value& item : list.items) {
    Chunks* owner = is(item, "chunk") ? owner_of(item) : nullptr;
    if (owner != nullptr && set_at(item) > 0) owner->inventory = true;
  }
  // Which inventory counts isn't in metadata. Revisions that large are few, and their Secrets small.
  MIST_TRY_VOID(parallel_for(living.size(), 8, [&](std::size_t i) -> Status {
    if (!living[i].inventory) return {};
    MIST_TRY(
        living[i].named,
        inventory_set(id, fmt::format("{}.{}", apply::anchor_name(id), living[i].attempt.first), context));
    return {};
  }));
  // By their labels these are of no revision.
  std::map<ChunkOwner, bool> asked;
  const auto may_be_named = [&](const Value& chunk) -> Result<bool> {
    const auto owner = owner_by_name(id, chunk.string_at({"metadata", "name"}));
    if (!owner) return true;
    auto known = asked.find(*owner);
    if (known == asked.end()) {
      MIST_TRY(const bool there, has_revision(id, owner->revision, owner->attempt, context));
      known = asked.emplace(*owner, there).first;
    }
    return known->second;
  };
  for (const Value& item : list.items) {
    if (!is(item, "chunk")) continue;
    const Chunks* owner = owner_of(item);
    const std::int64_t set = set_at(item);
    if (owner != nullptr && (set <= 0 || !owner->named || set == *owner->named)) continue;
    if (owner == nullptr) {
      MIST_TRY(const bool needed, may_be_named(item));
      if (needed) continue;
    }
    MIST_TRY_VOID(delete_listed(id, item, context));
  }
  return revisions;
}

Status Store::restore_labels(const Anchor& anchor, const Revision& revision, const Context& context) {
  Value metadata = Value::object({{"labels", owned_labels(anchor, revision, "revision")}});
  if (!revision.attempt.empty())
    metadata.set("annotations", Value::object({{apply::kAttemptAnnotation, revision.attempt}}));
  const std::string name = revision_name(anchor.id, revision.number);
  auto patched = client_.merge_patch(secret(anchor.id, name),
                                     Value::object({{"metadata", std::move(metadata)}}), context);
  if (patched.ok() || kube::is_absent(patched.error())) return {};
  return std::move(patched).error().with_frame(fmt::format(
      "while restoring the labels of revision {} of release {}", revision.number, anchor.id.display()));
}

}  // namespace mist::release
