#include "blueprint/round_trip.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "blueprint/converted_parts.h"
#include "blueprint/schema_sample.h"

namespace mist::blueprint {
namespace {

constexpr std::string_view kDefaultsName = "the defaults", kSampleName = "a sample with every field";
// Of questions about what a contract takes of one sample.
constexpr int kMostFits = 200;
constexpr std::string_view kWithExample = "with an example of it beside the blueprint, it is tried too";

bool is_blueprints_fault(const Error& failure) {
  return failure.kind == ErrorKind::Invalid || failure.kind == ErrorKind::Trap;
}

bool counts_as_absent(const Value* value) {
  return value == nullptr || ((value->is_object() || value->is_array()) && value->empty());
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

std::string field_of(const std::string& path, const std::string& name) {
  return is_plain_name(name) ? fmt::format("{}.{}", path, name) : fmt::format("{}[\"{}\"]", path, name);
}

void compare(const Value* before, const Value* after, const std::string& path,
             std::vector<FieldChange>& changes) {
  if (counts_as_absent(before) && counts_as_absent(after)) return;
  if (before != nullptr && after != nullptr) {
    if (before->is_number() && after->is_number() && before->as_double() == after->as_double()) return;
    if (before->is_object() && after->is_object()) {
      for (const Value::Member& each : before->as_object())
        compare(&each.value, after->find(each.key), field_of(path, each.key), changes);
      for (const Value::Member& each : after->as_object())
        if (before->find(each.key) == nullptr)
          compare(nullptr, &each.value, field_of(path, each.key), changes);
      return;
    }
    if (before->is_array() && after->is_array() && before->size() == after->size()) {
      for (std::size_t i = 0; i < before->size(); ++i)
        compare(&before->as_array()[i], &after->as_array()[i], fmt::format("{}[{}]", path, i), changes);
      return;
    }
    if (*before == *after) return;
  }
  FieldChange change{.path = path};
  if (before != nullptr) change.before = *before;
  if (after != nullptr) change.after = *after;
  changes.push_back(std::move(change));
}

struct Tried {
  std::string name;
  Value before, now;
};

// Objects of one version, as the contract of that version takes them.
class SampleMaker {
 public:
  SampleMaker(const Evaluator& evaluator, const Context& context, std::vector<SchemaNote>& untried)
      : evaluator_(evaluator), context_(context), untried_(untried) {}

  Result<std::vector<Tried>> objects_of(const ResourceVersion& version) {
    version_ = &version;
    std::vector<Tried> all;
    const std::size_t before = untried_.size();
    MIST_TRY(auto lean, held(sample_of(version.spec, Filling::Required, 0, "spec"), Value::object()));
    if (lean) add(all, std::string(kDefaultsName), *std::move(lean));
    const std::size_t turns = std::max(sample_turns(version.spec), sample_turns(version.status));
    for (std::size_t turn = 0; turn < turns; ++turn) {
      turn_ = turn;
      MIST_TRY(auto full, full_sample());
      if (full) add(all, std::string(kSampleName), *std::move(full));
    }
    if (all.empty() && untried_.size() == before)
      note("spec", fmt::format("no sample meets its contract ({})", refusal_));
    if (version.spec.is_null()) note("spec", "it has no contract of which a sample could be made");
    return all;
  }

  Result<std::vector<Tried>> objects_of(const ResourceVersion& version, const std::string& api_version,
                                        const std::string& kind, const std::vector<Example>& examples) {
    MIST_TRY(std::vector<Tried> all, objects_of(version));
    for (const Example& each : examples) {
      if (each.object.string_at("apiVersion") != api_version || each.object.string_at("kind") != kind)
        continue;
      const auto parts = convertible_parts(each.object);
      if (!parts.ok()) {
        note(each.name, parts.error().message);
        continue;
      }
      auto whole = evaluator_.hold(version.name, *parts, context_);
      if (whole.ok())
        add(all, each.name, *std::move(whole));
      else if (is_blueprints_fault(whole.error()))
        note(each.name, fmt::format("it breaks the contract of its version: {}", whole.error().message));
      else
        return std::move(whole).error();
    }
    return all;
  }

 private:
  void note(std::string path, std::string what) {
    const auto is_same = [&](const SchemaNote& each) {
      return each.version == version_->name && each.path == path;
    };
    if (std::ranges::none_of(untried_, is_same))
      untried_.push_back({version_->name, std::move(path), std::move(what)});
  }

  static void add(std::vector<Tried>& all, std::string name, Value parts) {
    if (std::ranges::any_of(all, [&](const Tried& each) { return each.before == parts; })) return;
    all.push_back({std::move(name), parts, parts});
  }

  // With its defaults; nullopt: the contract refuses it.
  Result<std::optional<Value>> held(Value spec, Value status) {
    Value parts = Value::object({{"name", "sample"}, {"namespace", "default"}});
    parts.set("labels", Value::object({{"example.com/label", "kept"}}));
    parts.set("annotations", Value::object({{"example.com/annotation", "kept"}}));
    parts.set("spec", std::move(spec));
    parts.set("status", std::move(status));
    ++fits_;
    auto whole = evaluator_.hold(version_->name, parts, context_);
    if (whole.ok()) return std::optional(*std::move(whole));
    if (!is_blueprints_fault(whole.error())) return std::move(whole).error();
    refusal_ = whole.error().message;
    return std::optional<Value>();
  }

  Result<std::optional<Value>> full_sample() {
    fits_ = 0;
    spec_ = sample_of(version_->spec, Filling::Everything, turn_, "spec");
    status_ = sample_of(version_->status, Filling::Everything, turn_, "status");
    MIST_TRY(auto whole, held(spec_, status_));
    if (whole) {
      note_unmade(version_->spec, spec_, "spec");
      note_unmade(version_->status, status_, "status");
      return whole;
    }
    // Something of it isn't what the contract takes: field by field, from what has to be there.
    const Value full_spec = std::exchange(spec_, sample_of(version_->spec, Filling::Required, turn_, "spec"));
    const Value full_status = std::exchange(status_, Value::object());
    MIST_TRY(whole, held(spec_, status_));
    if (!whole) {
      note("spec", fmt::format("no sample meets its contract ({}): {}", refusal_, kWithExample));
      return whole;
    }
    MIST_TRY_VOID(add_fields(version_->spec, full_spec, spec_, "spec"));
    MIST_TRY_VOID(add_fields(version_->status, full_status, status_, "status"));
    return held(spec_, status_);
  }

  // Adds the fields of `full` to `record`, a part of spec_ or status_, that the contract takes there.
  Status add_fields(const Value& schema, const Value& full, Value& record, const std::string& path) {
    if (!full.is_object() || !record.is_object()) return {};
    const Value* const properties = schema.find("properties");
    for (const Value::Member& field : full.as_object()) {
      const std::string place = field_of(path, field.key);
      const Value* const inner = properties == nullptr ? nullptr : properties->find(field.key);
      const Value* const there = record.find(field.key);
      const std::optional<Value> before = there == nullptr ? std::nullopt : std::optional(*there);
      if (before && *before == field.value) continue;
      record.set(field.key, field.value);
      MIST_TRY(const auto whole, held(spec_, status_));
      if (whole) continue;
      std::string why = refusal_;
      if (before)
        record.set(field.key, *before);
      else if (inner != nullptr && field.value.is_object())
        record.set(field.key, sample_of(*inner, Filling::Required, turn_, field.key));
      else
        record.erase(field.key);
      if (inner == nullptr || !field.value.is_object() || fits_ > kMostFits) {
        note(place, fmt::format("no sample meets its contract ({}): {}", why, kWithExample));
        continue;
      }
      MIST_TRY(const auto lean, held(spec_, status_));
      if (lean) {
        MIST_TRY_VOID(add_fields(*inner, field.value, *record.find(field.key), place));
      } else {
        record.erase(field.key);
        note(place, fmt::format("no sample meets its contract ({}): {}", why, kWithExample));
      }
    }
    note_unmade(schema, full, path);
    return {};
  }

  // Fields for which there was no value at all.
  void note_unmade(const Value& schema, const Value& made, const std::string& path) {
    const Value* const properties = schema.find("properties");
    if (properties == nullptr || !properties->is_object() || !made.is_object()) return;
    for (const Value::Member& each : properties->as_object()) {
      if (const Value* const value = made.find(each.key))
        note_unmade(each.value, *value, field_of(path, each.key));
      else
        note(field_of(path, each.key), fmt::format("no sample of its pattern is known: {}", kWithExample));
    }
  }

  const Evaluator& evaluator_;
  const Context& context_;
  std::vector<SchemaNote>& untried_;
  const ResourceVersion* version_ = nullptr;
  std::size_t turn_ = 0;
  int fits_ = 0;
  std::string refusal_;  // the last one, in words
  Value spec_, status_;
};

class Traveller {
 public:
  Traveller(const Evaluator& evaluator, const Context& context, RoundTrips& result)
      : evaluator_(evaluator), context_(context), result_(result) {}

  Status go(const std::string& version, const std::string& over, std::vector<Tried> objects) {
    MIST_TRY_VOID(convert(version, over, objects));
    MIST_TRY_VOID(convert(over, version, objects));
    RoundTrip trip{.version = version, .over = over};
    std::set<std::string> seen;
    for (const Tried& each : objects) {
      if (std::ranges::find(trip.objects, each.name) == trip.objects.end()) trip.objects.push_back(each.name);
      for (FieldChange& change : changes_between(each.before, each.now)) {
        if (!seen.insert(change.path).second) continue;
        change.object = each.name;
        trip.changes.push_back(std::move(change));
      }
    }
    result_.trips.push_back(std::move(trip));
    return {};
  }

 private:
  // Those that can't be converted are left out.
  Status convert(const std::string& from, const std::string& to, std::vector<Tried>& objects) {
    while (!objects.empty()) {
      std::vector<Value> parts;
      for (const Tried& each : objects) parts.push_back(each.now);
      std::size_t failing = 0;
      auto converted = evaluator_.convert(from, to, parts, failing, context_);
      if (converted.ok()) {
        for (std::size_t i = 0; i < objects.size(); ++i) objects[i].now = std::move((*converted)[i]);
        return {};
      }
      if (!is_blueprints_fault(converted.error())) return std::move(converted).error();
      const bool is_limit = converted.error().kind == ErrorKind::Trap;
      const auto bad = objects.begin() + static_cast<std::ptrdiff_t>(failing);
      if (std::ranges::none_of(result_.failures, [&](const ConversionFailure& each) {
            return each.from == from && each.to == to;
          }))
        result_.failures.push_back({from, to, bad->name, bad->now, std::move(converted).error()});
      // Another try would reach the limit too, which takes its time.
      if (is_limit)
        objects.clear();
      else
        objects.erase(bad);
    }
    return {};
  }

  const Evaluator& evaluator_;
  const Context& context_;
  RoundTrips& result_;
};

}  // namespace

std::vector<FieldChange> changes_between(const Value& before, const Value& after) {
  std::vector<FieldChange> changes;
  for (const std::string_view name : kConvertedRecords)
    compare(before.find(name), after.find(name), std::string(name), changes);
  for (const std::string_view name : kConvertedMaps)
    compare(before.find(name), after.find(name), fmt::format("metadata.{}", name), changes);
  std::erase_if(changes, [](const FieldChange& each) {
    return !each.before && each.path.starts_with("metadata.annotations");
  });
  return changes;
}

Result<RoundTrips> try_round_trips(const Blueprint& blueprint, const Evaluator& evaluator,
                                   const std::vector<Example>& examples, const Context& context) {
  RoundTrips result;
  if (!blueprint.resource() || !blueprint.resource()->converts()) return result;
  const auto& [group, hub, kind] = blueprint.instances();
  std::map<std::string, std::vector<Tried>> objects;
  SampleMaker maker(evaluator, context, result.untried);
  for (const ResourceVersion& each : blueprint.resource()->versions)
    if (each.converts || each.name == hub) {
      const std::string api_version = fmt::format("{}/{}", group, each.name);
      MIST_TRY(objects[each.name], maker.objects_of(each, api_version, kind, examples));
    }
  Traveller traveller(evaluator, context, result);
  for (const ResourceVersion& each : blueprint.resource()->versions) {
    if (!each.converts) continue;
    MIST_TRY_VOID(traveller.go(each.name, hub, objects[each.name]));
    MIST_TRY_VOID(traveller.go(hub, each.name, objects[hub]));
  }
  return result;
}

}  // namespace mist::blueprint
