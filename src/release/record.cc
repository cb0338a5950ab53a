#include "release/record.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "crypto/digest.h"

namespace mist::release {

using apimachinery::GroupKind;

namespace {

struct StatusName {
  RevisionStatus status;
  std::string_view name;
};
constexpr std::array kStatusNames{
    StatusName{RevisionStatus::Pending, "pending"},
    StatusName{RevisionStatus::Deployed, "deployed"},
    StatusName{RevisionStatus::Superseded, "superseded"},
    StatusName{RevisionStatus::Failed, "failed"},
    StatusName{RevisionStatus::Uninstalling, "uninstalling"},
};

Value value_at(const Value& value, std::string_view key) {
  const Value* found = value.find(key);
  return found != nullptr ? *found : Value();
}

}  // namespace

Result<ReleaseName> ReleaseName::parse(std::string_view text) {
  if (is_dns1123_label(text)) return ReleaseName(std::string(text));
  Error failure = error(ErrorKind::Usage, "\"{}\" is not a release name", escape_controls(text));
  failure.because =
      "a name has lower-case letters, digits and '-', begins and ends with a letter or digit, and is at most "
      "63 characters long";
  // The nearest that would do: "Web_Shop" → "web-shop".
  std::string near;
  for (const char c : text.substr(0, 63)) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    near += upper ? static_cast<char>(c - 'A' + 'a') : plain ? c : '-';
  }
  const auto first = near.find_first_not_of('-');
  near = first == std::string::npos ? "" : near.substr(first, near.find_last_not_of('-') - first + 1);
  failure.hint =
      is_dns1123_label(near) ? fmt::format("call it {}", near) : "choose another name, as in web-1";
  return failure;
}

std::optional<ReleaseId> ReleaseId::parse(std::string_view display) {
  const auto slash = display.find('/');
  if (slash == std::string_view::npos || !is_dns1123_label(display.substr(0, slash))) return std::nullopt;
  const auto name = ReleaseName::parse(display.substr(slash + 1));
  if (!name.ok()) return std::nullopt;
  return ReleaseId{std::string(display.substr(0, slash)), name->str()};
}

std::string_view to_string(RevisionStatus status) {
  return std::ranges::find(kStatusNames, status, &StatusName::status)->name;
}
std::optional<RevisionStatus> revision_status(std::string_view text) {
  const auto found = std::ranges::find(kStatusNames, text, &StatusName::name);
  if (found == kStatusNames.end()) return std::nullopt;
  return found->status;
}

std::string revision_name(const ReleaseId& id, int revision) {
  return fmt::format("mistletoe.{}.v{}", id.name, revision);
}

namespace {

Value to_value(const std::vector<ServerMade>& made) {
  Value::Array fields;
  fields.reserve(made.size());
  for (const ServerMade& each : made)
    fields.push_back(Value::object({{"path", each.path}, {"digest", each.digest}}));
  return Value(std::move(fields));
}

}  // namespace

Value to_value(const std::vector<InventoryItem>& inventory) {
  Value::Array items;
  items.reserve(inventory.size());
  for (const InventoryItem& item : inventory) {
    Value value = Value::object({{"group", item.key.group_kind.group},
                                 {"version", item.version},
                                 {"kind", item.key.group_kind.kind},
                                 {"namespace", item.key.ns},
                                 {"name", item.key.name},
                                 {"uid", item.uid},
                                 {"revision", item.revision}});
    if (item.retained) value.set("retained", true);
    if (item.adopted) value.set("adopted", true);
    if (item.replacing) value.set("replacing", true);
    if (item.hook) value.set("hook", true);
    if (item.ended) value.set("ended", true);
    if (item.fields_taken) value.set("fieldsTaken", true);
    if (!item.taken_from.empty()) value.set("takenFrom", item.taken_from);
    if (!item.left.empty()) value.set("left", item.left);
    if (!item.server_made.empty()) value.set("serverMade", to_value(item.server_made));
    items.push_back(std::move(value));
  }
  return Value(std::move(items));
}

Result<std::vector<InventoryItem>> inventory_from_value(const Value& value) {
  if (!value.is_array())
    return error(ErrorKind::Internal, "the inventory of the release's record is damaged");
  std::vector<InventoryItem> inventory;
  inventory.reserve(value.size());
  for (const Value& entry : value.as_array()) {
    InventoryItem item;
    item.key.group_kind =
        GroupKind{std::string(entry.string_at("group")), std::string(entry.string_at("kind"))};
    item.key.ns = entry.string_at("namespace");
    item.key.name = entry.string_at("name");
    item.version = entry.string_at("version");
    item.uid = entry.string_at("uid");
    item.revision = static_cast<int>(entry.int_at("revision"));
    item.retained = entry.is_true_at("retained");
    item.adopted = entry.is_true_at("adopted");
    item.replacing = entry.is_true_at("replacing");
    item.hook = entry.is_true_at("hook");
    item.ended = entry.is_true_at("ended");
    item.fields_taken = entry.is_true_at("fieldsTaken");
    item.taken_from = entry.string_at("takenFrom");
    item.left = entry.string_at("left");
    if (const Value* made = entry.find("serverMade"); made != nullptr && made->is_array()) {
      for (const Value& each : made->as_array())
        item.server_made.push_back(
            {std::string(each.string_at("path")), std::string(each.string_at("digest"))});
    }
    if (item.key.group_kind.kind.empty() || item.key.name.empty())
      return error(ErrorKind::Internal, "the inventory of the release's record is damaged");
    inventory.push_back(std::move(item));
  }
  return inventory;
}

namespace {

Value objects_to_value(const std::vector<RenderedObject>& objects) {
  Value::Array values;
  values.reserve(objects.size());
  for (const RenderedObject& rendered : objects) {
    values.push_back(Value::object(
        {{"file", rendered.file}, {"line", rendered.line}, {"object", rendered.object.value()}}));
    if (!rendered.source.empty()) values.back().set("source", rendered.source);
    if (!rendered.package.empty()) values.back().set("package", rendered.package);
  }
  return Value(std::move(values));
}

// Older records of what an engine rendered have its lines under the template's name.
Result<std::vector<RenderedObject>> objects_from_value(const Value& values, bool by_engine) {
  std::vector<RenderedObject> objects;
  if (!values.is_array()) return objects;
  for (const Value& entry : values.as_array()) {
    MIST_TRY(auto object, apimachinery::Object::from_value(value_at(entry, "object")));
    objects.push_back({std::move(object), std::string(entry.string_at("file")),
                       static_cast<std::uint32_t>(entry.int_at("line")),
                       std::string(entry.string_at("source")), std::string(entry.string_at("package"))});
    RenderedObject& rendered = objects.back();
    if (rendered.source.empty() && by_engine) rendered.source = rendered.file + std::string(kRenderedMark);
  }
  return objects;
}

Value to_value(const PackageInfo& package) {
  Value value = Value::object({{"reference", package.reference},
                               {"name", package.name},
                               {"version", package.version},
                               {"digest", package.digest},
                               {"engine", package.engine}});
  if (!package.calls.empty()) value.set("calls", release::to_value(package.calls));
  if (!package.call_tree.empty()) value.set("callTree", release::to_value(package.call_tree));
  if (!package.signers.empty()) value.set("signers", release::to_value(package.signers));
  return value;
}

std::vector<PackageCall> call_tree_from_value(const Value& list) {
  std::vector<PackageCall> calls;
  if (!list.is_array()) return calls;
  for (const Value& each : list.as_array())
    calls.push_back(
        {{std::string(each.string_at({"caller", "id"})), std::string(each.string_at({"caller", "install"}))},
         std::string(each.string_at("name")),
         {std::string(each.string_at("id")), std::string(each.string_at("install"))},
         std::string(each.string_at("version"))});
  return calls;
}

std::vector<PackageSigners> signers_from_value(const Value& list) {
  std::vector<PackageSigners> all;
  if (!list.is_array()) return all;
  for (const Value& each : list.as_array()) {
    PackageSigners signers{std::string(each.string_at("package")), each.texts_at("signers")};
    if (!signers.package.empty() && !signers.signers.empty()) all.push_back(std::move(signers));
  }
  return all;
}

std::vector<CalledPackage> calls_from_value(const Value& list) {
  std::vector<CalledPackage> calls;
  if (!list.is_array()) return calls;
  for (const Value& each : list.as_array())
    calls.push_back({std::string(each.string_at("id")), std::string(each.string_at("version")),
                     std::string(each.string_at("digest"))});
  return calls;
}

}  // namespace

Value to_value(const std::vector<CalledPackage>& calls) {
  Value::Array list;
  for (const CalledPackage& each : calls)
    list.push_back(Value::object({{"id", each.id}, {"version", each.version}, {"digest", each.digest}}));
  return Value(std::move(list));
}

Value to_value(const std::vector<PackageSigners>& signers) {
  Value::Array list;
  for (const PackageSigners& each : signers)
    list.push_back(
        Value::object({{"package", each.package},
                       {"signers", Value(Value::Array(each.signers.begin(), each.signers.end()))}}));
  return Value(std::move(list));
}

Value to_value(const std::vector<PackageCall>& calls) {
  Value::Array list;
  for (const PackageCall& each : calls) {
    Value caller;
    if (!each.caller.id.empty())
      caller = Value::object({{"id", each.caller.id}, {"install", each.caller.install}});
    list.push_back(Value::object({{"caller", std::move(caller)},
                                  {"name", each.name},
                                  {"id", each.called.id},
                                  {"install", each.called.install},
                                  {"version", each.version}}));
  }
  return Value(std::move(list));
}

Value to_value(const Revision& revision) {
  Value value = Value::object({{"format", kRecordFormat},
                               {"revision", revision.number},
                               {"action", revision.action},
                               {"created", revision.created},
                               {"attempt", revision.attempt},
                               {"package", to_value(revision.package)},
                               {"values", revision.user_values},
                               {"options", revision.options},
                               {"description", revision.description},
                               {"restores", revision.restores},
                               {"objects", objects_to_value(revision.objects)},
                               {"inventory", to_value(revision.inventory)}});
  if (!revision.notes.empty()) value.set("notes", revision.notes);
  if (!revision.tests.empty()) value.set("tests", objects_to_value(revision.tests));
  if (!revision.hooks.empty()) value.set("hooks", objects_to_value(revision.hooks));
  if (!revision.drawn.empty()) value.set("drawn", to_value(revision.drawn));
  return value;
}

RevisionSummary summary_of(const Revision& revision) {
  return {.number = revision.number,
          .action = revision.action,
          .status = revision.status,
          .created = revision.created,
          .finished = revision.finished,
          .attempt = revision.attempt,
          .package = revision.package.reference,
          .package_version = revision.package.version,
          .objects = revision.objects.size(),
          .description = revision.description,
          .message = revision.message};
}

Result<Revision> revision_from_value(const Value& value) {
  const std::int64_t format = value.int_at("format");
  if (format > kRecordFormat) {
    Error failure = error(ErrorKind::Invalid, "the record has format {}, this mistctl knows up to {}", format,
                          kRecordFormat);
    failure.hint = "use a newer mistctl for this release";
    return failure;
  }
  const Value* objects = value.find("objects");
  if (format < 1 || objects == nullptr || !objects->is_array())
    return error(ErrorKind::Internal, "the record of the revision is damaged");

  Revision revision;
  revision.number = static_cast<int>(value.int_at("revision", -1));
  revision.action = value.string_at("action");
  revision.created = value.string_at("created");
  revision.attempt = value.string_at("attempt");
  revision.package = {std::string(value.string_at({"package", "reference"})),
                      std::string(value.string_at({"package", "name"})),
                      std::string(value.string_at({"package", "version"})),
                      std::string(value.string_at({"package", "digest"})),
                      std::string(value.string_at({"package", "engine"})),
                      calls_from_value(value_at(value_at(value, "package"), "calls")),
                      call_tree_from_value(value_at(value_at(value, "package"), "callTree")),
                      signers_from_value(value_at(value_at(value, "package"), "signers"))};
  revision.user_values = value_at(value, "values");
  revision.options = value_at(value, "options");
  revision.description = value.string_at("description");
  revision.notes = value.string_at("notes");
  revision.restores = static_cast<int>(value.int_at("restores", -1));
  const bool by_engine = !revision.package.engine.empty();
  MIST_TRY(revision.objects, objects_from_value(*objects, by_engine));
  MIST_TRY(revision.tests, objects_from_value(value_at(value, "tests"), by_engine));
  MIST_TRY(revision.hooks, objects_from_value(value_at(value, "hooks"), by_engine));
  MIST_TRY(revision.drawn, drawn_from_value(value_at(value, "drawn")));
  MIST_TRY(revision.inventory, inventory_from_value(value_at(value, "inventory")));
  return revision;
}

Value to_value(const Head& head) {
  Value value = Value::object({{"latest", head.latest},
                               {"deployed", head.deployed},
                               {"status", to_string(head.status)},
                               {"action", head.action},
                               {"updated", head.updated},
                               {"package", head.package},
                               {"packageVersion", head.package_version},
                               {"objects", head.objects}});
  if (!head.kept_by.empty()) value.set("keptBy", head.kept_by);
  if (!head.kept_by_uid.empty()) value.set("keptByUid", head.kept_by_uid);
  if (!head.options.is_null()) value.set("options", head.options);
  return value;
}

Head head_from_value(const Value& value) {
  Head head;
  head.latest = static_cast<int>(value.int_at("latest", -1));
  head.deployed = static_cast<int>(value.int_at("deployed", -1));
  head.status = revision_status(value.string_at("status")).value_or(RevisionStatus::Pending);
  head.action = value.string_at("action");
  head.updated = value.string_at("updated");
  head.package = value.string_at("package");
  head.package_version = value.string_at("packageVersion");
  head.objects = static_cast<std::size_t>(std::max<std::int64_t>(value.int_at("objects"), 0));
  head.kept_by = value.string_at("keptBy");
  head.kept_by_uid = value.string_at("keptByUid");
  head.options = value_at(value, "options");
  return head;
}

Value to_value(const Lock& lock) {
  return Value::object({{"holder", lock.holder},
                        {"token", lock.token},
                        {"operation", lock.operation},
                        {"acquired", lock.acquired},
                        {"renewed", lock.renewed},
                        {"termMs", lock.term_ms},
                        {"process", lock.process}});
}

std::optional<Lock> lock_from_value(const Value& value) {
  if (value.string_at("token").empty()) return std::nullopt;
  Lock lock;
  lock.holder = value.string_at("holder");
  lock.token = value.string_at("token");
  lock.operation = value.string_at("operation");
  lock.acquired = value.string_at("acquired");
  lock.renewed = value.string_at("renewed");
  lock.term_ms = value.int_at("termMs");
  lock.process = value.string_at("process");
  return lock;
}

}  // namespace mist::release
