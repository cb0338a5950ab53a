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

// Several objects with the same list name one of the record's "lists".
std::vector<std::string> uses_from(const Value& each, const Value& record) {
  const std::string_view name = each.string_at("uses");
  if (name.empty()) return each.texts_at("uses");
  const Value* const lists = record.find("lists");
  return lists == nullptr ? std::vector<std::string>() : lists->texts_at(name);
}

ObjectId id_from(const Value& each) {
  return {std::string(each.string_at("apiVersion")), std::string(each.string_at("kind")),
          std::string(each.string_at("namespace")), std::string(each.string_at("name"))};
}

Value described(const ObjectId& id) {
  return Value::object(
      {{"apiVersion", id.api_version}, {"kind", id.kind}, {"namespace", id.ns}, {"name", id.name}});
}

Recorded recorded_from(const Value& each, const Value& record) {
  return {.node = std::string(each.string_at("node")),
          .id = id_from(each),
          .after = each.texts_at("after"),
          .uses = uses_from(each, record),
          .hash = std::string(each.string_at("input")),
          .policy = policy_from(each.string_at("policy")),
          .shown = each.find("shown") != nullptr};
}

Value described(const Recorded& entry) {
  Value object = Value::object({{"node", entry.node},
                                {"apiVersion", entry.id.api_version},
                                {"kind", entry.id.kind},
                                {"namespace", entry.id.ns},
                                {"name", entry.id.name},
                                {"after", list_of(entry.after)}});
  if (!entry.hash.empty()) object.set("input", entry.hash);
  if (entry.policy != Policy::Delete) object.set("policy", blueprint::word(entry.policy));
  return object;
}

}  // namespace

std::string ObjectId::display() const {
  return ns.empty() ? fmt::format("{} {}", kind, name) : fmt::format("{} {}/{}", kind, ns, name);
}

std::string ObjectId::text() const { return fmt::format("{}/{}/{}/{}", api_version, kind, ns, name); }

std::string text_of_key(std::string_view text) {
  // Behind the version are kind, namespace and name, in which there is no slash.
  std::size_t behind = text.size();
  for (int part = 0; part < 3 && behind != std::string_view::npos; ++part)
    behind = behind == 0 ? std::string_view::npos : text.rfind('/', behind - 1);
  if (behind == std::string_view::npos) return std::string(text);
  const std::string_view version = text.substr(0, behind);
  const std::size_t slash = version.find('/');
  const std::string_view group =
      slash == std::string_view::npos ? std::string_view() : version.substr(0, slash);
  return fmt::format("{}{}", group, text.substr(behind));
}

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

bool is_same_object(const ObjectId& a, const ObjectId& b) {
  return std::tie(a.kind, a.ns, a.name) == std::tie(b.kind, b.ns, b.name) &&
         (a.api_version == b.api_version || a.gvk().group == b.gvk().group);
}

const Recorded* Record::find(const ObjectId& id) const {
  const auto found =
      std::ranges::find_if(objects, [&](const Recorded& each) { return is_same_object(each.id, id); });
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
  return before.progress == now.progress && before.unaccounted == now.unaccounted &&
         before.last_acts == now.last_acts &&
         std::ranges::equal(before.objects, now.objects, [](const Recorded& was, const Recorded& is) {
           return is.shown ? was.is_same_but_for_hash(is) : was == is;
         });
}

Record united(Record known, const Record& other) {
  for (const Recorded& each : other.objects)
    if (known.find(each.id) == nullptr) known.objects.push_back(each);
  for (const auto& [node, progress] : other.progress) {
    const auto [mine, is_new] = known.progress.try_emplace(node, progress);
    if (is_new) continue;
    std::vector<std::string>& reached = mine->second.reached;
    std::vector<std::string> more;
    for (const std::string& each : progress.reached)
      if (std::ranges::find(reached, each) == reached.end()) more.push_back(each);
    reached.insert(reached.begin(), more.begin(), more.end());
  }
  for (const ObjectId& each : other.unaccounted)
    if (std::ranges::find(known.unaccounted, each) == known.unaccounted.end())
      known.unaccounted.push_back(each);
  known.last_acts.insert(other.last_acts.begin(), other.last_acts.end());
  return known;
}

std::string to_text(const Record& record, RecordText kind) {
  std::map<std::vector<std::string>, std::size_t> users;
  for (const Recorded& each : record.objects) ++users[each.uses];
  std::map<std::vector<std::string>, std::string> names;
  Value::Array objects;
  Value lists = Value::object();
  for (const Recorded& each : record.objects) {
    Value& object = objects.emplace_back(described(each));
    if (each.shown && kind == RecordText::Known) object.set("shown", true);
    if (each.uses.empty()) continue;
    if (users[each.uses] == 1) {
      object.set("uses", list_of(each.uses));
      continue;
    }
    const auto [name, is_new] = names.try_emplace(each.uses, std::to_string(lists.size()));
    if (is_new) lists.set(name->second, list_of(each.uses));
    object.set("uses", name->second);
  }
  Value whole = Value::object({{"objects", Value(std::move(objects))}});
  if (!lists.empty()) whole.set("lists", std::move(lists));
  for (const ObjectId& each : record.unaccounted) whole["unaccounted"].push_back(described(each));
  for (const auto& [act, nodes] : record.last_acts) whole["lastActs"].set(act, list_of(nodes));
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

Result<Record> record_from(std::string_view text) {
  Record record;
  if (text.empty()) return record;
  const auto parsed = encoding::parse_json(text);
  if (!parsed.ok() || !parsed->is_object())
    return error(ErrorKind::Invalid, "the annotation {} can't be read, which says what was made",
                 kRecordAnnotation)
        .with_hint("put back what it was, or remove it if nothing of the instance is there any more");
  if (const Value* objects = parsed->find("objects"); objects != nullptr && objects->is_array())
    for (const Value& each : objects->as_array()) record.objects.push_back(recorded_from(each, *parsed));
  if (const Value* left = parsed->find("unaccounted"); left != nullptr && left->is_array())
    for (const Value& each : left->as_array()) record.unaccounted.push_back(id_from(each));
  if (const Value* acts = parsed->find("lastActs"); acts != nullptr && acts->is_object())
    for (const Value::Member& each : acts->as_object()) record.last_acts[each.key] = acts->texts_at(each.key);
  if (const Value* progress = parsed->find("progress"); progress != nullptr && progress->is_object())
    for (const Value::Member& each : progress->as_object())
      record.progress[each.key] = {each.value.texts_at("reached"),
                                   std::string(each.value.string_at("failed")),
                                   std::string(each.value.string_at("failure"))};
  return record;
}

}  // namespace mist::reconcile
