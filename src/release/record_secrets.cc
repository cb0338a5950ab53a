#include "release/record_secrets.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "encoding/json.h"

namespace mist::release {
namespace {

// The things that are sealed.
constexpr std::string_view kFixedInputsSeal = "birth", kHeadSeal = "head", kRevisionSeal = "record",
                           kInventorySeal = "inventory";

// A server takes 256 KiB of annotations, keys and values of an object together. Head, lock and what others
// add need a part of it.
constexpr std::size_t kKindsLimit = std::size_t{32} << 10;
constexpr std::size_t kNamespacesLimit = std::size_t{160} << 10;

// More than anybody makes; labels may say anything, and the next number must be one too.
constexpr int kMostRevisions = 1'000'000'000;

// As many as fit.
std::string comma_joined(const std::vector<std::string>& parts, std::size_t limit, bool& cut) {
  std::string text;
  for (const std::string& part : parts) {
    if (text.size() + part.size() + 1 > limit) {
      cut = true;
      break;
    }
    if (!text.empty()) text += ',';
    text += part;
  }
  return text;
}

std::vector<std::string> comma_split(std::string_view text) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(text, ',')) {
    if (!part.empty()) parts.emplace_back(part);
  }
  return parts;
}

Value json_annotation(const Value& metadata, std::string_view name) {
  auto parsed = encoding::parse_json(metadata.string_at({"annotations", name}));
  return parsed.ok() ? *std::move(parsed) : Value();
}

std::string decoded(const Value& secret, std::string_view key) {
  std::string text;
  return base64_decode(secret.string_at({"data", key}), text) ? text : std::string();
}

// A run of a release's tests: its anchor has no seed and no seals. No release's own name has a dot.
bool is_of_tests(const ReleaseId& id, const Value& secret) {
  return secret.string_at({"metadata", "labels", apply::kRecordLabel}) == kTestsRecord &&
         id.name.contains('.');
}

// Of an anchor's Secret. A key that was there once left other traces: without it nothing is believed.
Seals seals_of(const Value& secret) {
  const std::string_view encoded = secret.string_at({"data", "key"});
  const bool traces = secret.at_path({"data", "seal"}) != nullptr ||
                      secret.at_path({"data", "sealedFrom"}) != nullptr ||
                      secret.at_path({"metadata", "annotations", apply::kHeadSealAnnotation}) != nullptr;
  if (encoded.empty()) return traces ? Seals::lost() : Seals::none();
  std::string key, from;
  int first = 0;
  if (!base64_decode(encoded, key) || key.size() != 32 ||
      !base64_decode(secret.string_at({"data", "sealedFrom"}), from) ||
      std::from_chars(from.data(), from.data() + from.size(), first).ec != std::errc() || first < 0)
    return Seals::lost();
  return Seals::with(SecretString(std::move(key)), first);
}

}  // namespace

Anchor anchor_from_metadata(const Value& object) {
  const Value* metadata = object.find("metadata");
  Anchor anchor;
  if (metadata == nullptr) {
    anchor.head_lost = true;
    return anchor;
  }
  anchor.id = {std::string(metadata->string_at("namespace")),
               std::string(metadata->string_at({"labels", apply::kRecordOfLabel}))};
  anchor.uid = metadata->string_at("uid");
  anchor.resource_version = metadata->string_at("resourceVersion");
  anchor.created = metadata->string_at("creationTimestamp");
  const Value head = json_annotation(*metadata, apply::kHeadAnnotation);
  anchor.head = head_from_value(head);
  anchor.head_lost = !head.is_object() || head.find("latest") == nullptr;
  anchor.lock = lock_from_value(json_annotation(*metadata, apply::kLockAnnotation));
  anchor.cut = metadata->string_at({"annotations", apply::kCutAnnotation}) == "true";
  anchor.group_kinds = comma_split(metadata->string_at({"annotations", apply::kGroupKindsAnnotation}));
  anchor.additional_namespaces =
      comma_split(metadata->string_at({"annotations", apply::kNamespacesAnnotation}));
  return anchor;
}

// An anchor's data: what its release was born with.
Value fixed_inputs_data(const Seals& seals, const ReleaseId& id, const SecretString& seed,
                        const std::string& clock) {
  Value data = Value::object({{"seed", base64_encode(seed.reveal())}, {"clock", base64_encode(clock)}});
  if (!seals.has_key()) return data;
  const std::string first = fmt::to_string(seals.first());
  data.set("key", base64_encode(seals.key().reveal()));
  data.set("sealedFrom", base64_encode(first));
  data.set("seal", base64_encode(seals.make(kFixedInputsSeal, id.display(), {seed.reveal(), clock, first})));
  return data;
}

namespace {

// Why seed and clock can't be had; null: they can. Without their seal nobody can say either from which
// revision on there are seals.
const char* read_fixed_inputs(Anchor& anchor, const Value& secret) {
  std::string seed = decoded(secret, "seed"), clock = decoded(secret, "clock");
  if (seed.size() != 32 || !parse_time(clock)) return "its seed or its clock is missing";
  if (anchor.seals.needed() &&
      !anchor.seals.holds(decoded(secret, "seal"), kFixedInputsSeal, anchor.id.display(),
                          {seed, clock, fmt::to_string(anchor.seals.first())}))
    return "its seed or its clock doesn't have the release's seal";
  anchor.seed = SecretString(std::move(seed));
  anchor.frozen_clock = std::move(clock);
  return nullptr;
}

}  // namespace

Result<Anchor> anchor_from_secret(const Value& secret, const ReleaseId& id) {
  if (secret.string_at("kind") != "Secret")
    return error(ErrorKind::Invalid, "the server answered something that is not a Secret")
        .with_hint("check the server address of the context, and proxies on the way");
  if (secret.string_at("type") != apply::kRecordType)
    return error(ErrorKind::Conflict, "Secret {}/{} has the name of a release record, but is not one", id.ns,
                 apply::anchor_name(id))
        .with_because(fmt::format("its type is {}, and that of a record is {}",
                                  escape_controls(secret.string_at("type")), apply::kRecordType))
        .with_hint("remove it, or choose another name for the release");
  Anchor anchor = anchor_from_metadata(secret);
  // It was asked for by its name, so that is what it is, whatever became of its labels.
  anchor.id = id;
  if (is_of_tests(id, secret)) {
    anchor.seals = Seals::none();
    anchor.head_lost = false;
    return anchor;
  }
  const Value* const head = secret.at_path({"metadata", "annotations", apply::kHeadAnnotation});
  anchor.seals = seals_of(secret);
  if (anchor.seals.needed() && !anchor.head_lost &&
      !anchor.seals.holds(secret.string_at({"metadata", "annotations", apply::kHeadSealAnnotation}),
                          kHeadSeal, id.display(), {head->as_string()}))
    anchor.head_lost = true;
  if (anchor.seals.needed() && !anchor.seals.has_key())
    anchor.damage.emplace_back("the key of its seals is missing");
  if (const char* damage = read_fixed_inputs(anchor, secret)) {
    anchor.damage.emplace_back(damage);
    if (anchor.seals.has_key()) anchor.seals = Seals::with(anchor.seals.key(), 0);
  }
  return anchor;
}

Value change_annotations(const Seals& seals, const ReleaseId& id, const AnchorChange& change) {
  Value annotations = Value::object();
  if (change.head) {
    const std::string head = encoding::to_json(to_value(*change.head));
    if (seals.has_key())
      annotations.set(apply::kHeadSealAnnotation, seals.make(kHeadSeal, id.display(), {head}));
    annotations.set(apply::kHeadAnnotation, head);
  }
  if (change.lock)
    annotations.set(apply::kLockAnnotation,
                    *change.lock ? Value(encoding::to_json(to_value(**change.lock))) : Value());
  bool cut = false;
  if (change.group_kinds)
    annotations.set(apply::kGroupKindsAnnotation, comma_joined(*change.group_kinds, kKindsLimit, cut));
  if (change.additional_namespaces)
    annotations.set(apply::kNamespacesAnnotation,
                    comma_joined(*change.additional_namespaces, kNamespacesLimit, cut));
  if (change.group_kinds && change.additional_namespaces)
    annotations.set(apply::kCutAnnotation, cut ? Value("true") : Value());
  return annotations;
}

// Facts of a revision that never change and are worth a look without its bytes; bounded, as annotations are.
Value summary_annotation(const Revision& revision) {
  const RevisionSummary summary = summary_of(revision);
  return Value(encoding::to_json(Value::object({{"action", summary.action},
                                                {"created", summary.created},
                                                {"package", summary.package.substr(0, 1024)},
                                                {"packageVersion", summary.package_version.substr(0, 256)},
                                                {"objects", summary.objects},
                                                {"description", summary.description.substr(0, 1024)}})));
}

RevisionSummary summary_from_metadata(const Value& object) {
  const auto annotation = [&](std::string_view name) {
    return std::string(object.string_at({"metadata", "annotations", name}));
  };
  RevisionSummary summary;
  const std::string_view label = object.string_at({"metadata", "labels", apply::kRevisionLabel});
  if (label.size() < 2 ||
      std::from_chars(label.data() + 1, label.data() + label.size(), summary.number).ec != std::errc() ||
      summary.number > kMostRevisions)
    summary.number = -1;
  const Value text = json_annotation(object.find("metadata") ? *object.find("metadata") : Value(),
                                     apply::kSummaryAnnotation);
  summary.action = text.string_at("action");
  summary.created = text.string_at("created");
  summary.package = text.string_at("package");
  summary.package_version = text.string_at("packageVersion");
  summary.description = text.string_at("description");
  if (const Value* count = text.find("objects"); count != nullptr && count->is_int())
    summary.objects = static_cast<std::size_t>(std::max<std::int64_t>(count->as_int(), 0));
  summary.status = revision_status(annotation(apply::kStatusAnnotation)).value_or(RevisionStatus::Pending);
  summary.finished = annotation(apply::kFinishedAnnotation);
  summary.attempt = annotation(apply::kAttemptAnnotation);
  summary.message = annotation(apply::kMessageAnnotation);
  summary.uid = object.string_at({"metadata", "uid"});
  summary.resource_version = object.string_at({"metadata", "resourceVersion"});
  return summary;
}

Error damaged_record(const ReleaseId& id, const Value& secret, std::string_view why) {
  Error failure = error(ErrorKind::Internal, "the record {}/{} is damaged", id.ns,
                        secret.string_at({"metadata", "name"}));
  failure.because = why;
  return failure;
}

namespace {

bool is_sealed(const Anchor& anchor, const Revision& revision) {
  MIST_CHECK(anchor.seals.known(), "a revision is written to an anchor that was read whole");
  return anchor.seals.has_key() && anchor.seals.needed_for(revision.number);
}

}  // namespace

std::optional<std::string> revision_seal(const Anchor& anchor, const Revision& revision,
                                         std::string_view text) {
  if (!is_sealed(anchor, revision)) return std::nullopt;
  return anchor.seals.make(kRevisionSeal, anchor.id.display(),
                           {fmt::to_string(revision.number), revision.attempt, text});
}

std::optional<std::string> inventory_seal(const Anchor& anchor, const Revision& revision,
                                          std::string_view text) {
  if (!is_sealed(anchor, revision)) return std::nullopt;
  return anchor.seals.make(kInventorySeal, anchor.id.display(),
                           {fmt::to_string(revision.number), revision.attempt, to_string(revision.status),
                            revision.finished, text});
}

// Whether what a revision's Secret says was written by the release, about that revision.
Status check_seals(const Anchor& anchor, int number, const Value& secret) {
  if (secret.string_at("type") != apply::kRecordType)
    return damaged_record(anchor.id, secret, fmt::format("its type is not {}", apply::kRecordType));
  if (!anchor.seals.needed_for(number)) return {};
  const auto annotation = [&](std::string_view name) {
    return secret.string_at({"metadata", "annotations", name});
  };
  const auto holds = [&](std::string_view key, std::string_view what,
                         std::initializer_list<std::string_view> fields) {
    return anchor.seals.holds(decoded(secret, key), what, anchor.id.display(), fields);
  };
  constexpr std::string_view kForeign =
      "it doesn't have the release's seal: somebody else wrote it, or it is of an earlier life of the "
      "release";
  const std::string revision = fmt::to_string(number);
  const std::string_view attempt = annotation(apply::kAttemptAnnotation);
  if (!holds("recordSeal", kRevisionSeal, {revision, attempt, decoded(secret, "record")}))
    return damaged_record(anchor.id, secret, kForeign);
  if (secret.at_path({"data", "inventory"}) == nullptr) {
    if (annotation(apply::kStatusAnnotation) == to_string(RevisionStatus::Pending)) return {};
    return damaged_record(anchor.id, secret, "its status doesn't have the release's seal");
  }
  if (holds("inventorySeal", kInventorySeal,
            {revision, attempt, annotation(apply::kStatusAnnotation), annotation(apply::kFinishedAnnotation),
             decoded(secret, "inventory")}))
    return {};
  return damaged_record(
      anchor.id, secret,
      "its status and its inventory don't have the release's seal: somebody else wrote them");
}

}  // namespace mist::release
