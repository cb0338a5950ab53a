#include "reconcile/record.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "encoding/json.h"

namespace mist::reconcile {
namespace {

using blueprint::Policy;

Value list_of(const std::vector<std::string>& texts) {
  Value::Array list;
  for (const std::string& each : texts) list.emplace_back(each);
  return Value(std::move(list));
}

Policy policy_from(std::string_view text) {
  for (const Policy each : {Policy::Orphan, Policy::Retain})
    if (text == blueprint::word(each)) return each;
  return Policy::Delete;
}

Recorded recorded_from(const Value& each) {
  return {.node = std::string(each.string_at("node")),
          .id = {std::string(each.string_at("apiVersion")), std::string(each.string_at("kind")),
                 std::string(each.string_at("namespace")), std::string(each.string_at("name"))},
          .after = each.texts_at("after"),
          .uses = each.texts_at("uses"),
          .hash = std::string(each.string_at("input")),
          .policy = policy_from(each.string_at("policy"))};
}

Value described(const Recorded& entry) {
  Value object = Value::object({{"node", entry.node},
                                {"apiVersion", entry.id.api_version},
                                {"kind", entry.id.kind},
                                {"namespace", entry.id.ns},
                                {"name", entry.id.name},
                                {"after", list_of(entry.after)}});
  if (!entry.uses.empty()) object.set("uses", list_of(entry.uses));
  if (!entry.hash.empty()) object.set("input", entry.hash);
  if (entry.policy != Policy::Delete) object.set("policy", blueprint::word(entry.policy));
  return object;
}

}  // namespace

std::string ObjectId::display() const {
  return ns.empty() ? fmt::format("{} {}", kind, name) : fmt::format("{} {}/{}", kind, ns, name);
}

std::string ObjectId::text() const { return fmt::format("{}/{}/{}/{}", api_version, kind, ns, name); }

apimachinery::GroupVersionKind ObjectId::gvk() const {
  const auto slash = api_version.find('/');
  if (slash == std::string::npos) return {"", api_version, kind};
  return {api_version.substr(0, slash), api_version.substr(slash + 1), kind};
}

ObjectId id_of(const Value& object) {
  return {std::string(object.string_at("apiVersion")), std::string(object.string_at("kind")),
          std::string(object.string_at({"metadata", "namespace"})),
          std::string(object.string_at({"metadata", "name"}))};
}

const Recorded* Record::find(const ObjectId& id) const {
  const auto found = std::ranges::find(objects, id, &Recorded::id);
  return found == objects.end() ? nullptr : &*found;
}

bool Record::reached(const std::string& node, std::string_view hash) const {
  const auto found = progress.find(node);
  return found != progress.end() &&
         std::ranges::find(found->second.reached, hash) != found->second.reached.end();
}

void Record::reach(const std::string& node, const std::string& hash) {
  if (reached(node, hash)) return;
  std::vector<std::string>& all = progress[node].reached;
  all.push_back(hash);
  if (all.size() > kMostReached) all.erase(all.begin());
}

bool says_as_much(const Record& before, const Record& now) {
  return before.progress == now.progress &&
         std::ranges::equal(before.objects, now.objects, [](const Recorded& was, const Recorded& is) {
           return is.shown ? was.is_same_but_for_hash(is) : was == is;
         });
}

std::string to_text(const Record& record) {
  Value::Array objects;
  for (const Recorded& each : record.objects) objects.push_back(described(each));
  Value whole = Value::object({{"objects", Value(std::move(objects))}});
  for (const auto& [node, progress] : record.progress) {
    Value entry = Value::object({{"reached", list_of(progress.reached)}});
    if (!progress.failed.empty()) {
      entry.set("failed", progress.failed);
      entry.set("failure", progress.failure);
    }
    whole["progress"].set(node, std::move(entry));
  }
  return encoding::to_json(whole);
}

Record record_from(std::string_view text) {
  Record record;
  const auto parsed = text.empty() ? Result<Value>(Value()) : encoding::parse_json(text);
  if (!parsed.ok()) return record;
  if (const Value* objects = parsed->find("objects"); objects != nullptr && objects->is_array())
    for (const Value& each : objects->as_array()) record.objects.push_back(recorded_from(each));
  if (const Value* progress = parsed->find("progress"); progress != nullptr && progress->is_object())
    for (const Value::Member& each : progress->as_object())
      record.progress[each.key] = {each.value.texts_at("reached"),
                                   std::string(each.value.string_at("failed")),
                                   std::string(each.value.string_at("failure"))};
  return record;
}

}  // namespace mist::reconcile
