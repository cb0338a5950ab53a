#include "blueprint/schema_change.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "blueprint/structural_schema.h"
#include "encoding/json.h"

namespace mist::blueprint {
namespace {

constexpr std::string_view kKeepUnknown = "x-kubernetes-preserve-unknown-fields";
constexpr std::string_view kEither = "x-kubernetes-int-or-string";

// A limit of a schema: raising a least narrows the schema, and so does lowering a most.
struct Bound {
  std::string_view name;
  bool least;
};
constexpr std::array<Bound, 8> kBounds{{{"minimum", true},
                                        {"minLength", true},
                                        {"minItems", true},
                                        {"minProperties", true},
                                        {"maximum", false},
                                        {"maxLength", false},
                                        {"maxItems", false},
                                        {"maxProperties", false}}};
// Where any other value is another meaning.
constexpr std::array<std::string_view, 7> kExact{"pattern", "format", "multipleOf", "not",
                                                 "allOf",   "anyOf",  "oneOf"};
constexpr std::string_view kListType = "x-kubernetes-list-type", kListKeys = "x-kubernetes-list-map-keys";
constexpr std::string_view kAtomic = "atomic", kRuleList = "x-kubernetes-validations";

bool holds(const Value* list, const Value& item) {
  return list != nullptr && list->is_array() &&
         std::ranges::find(list->as_array(), item) != list->as_array().end();
}

std::string type_of(const Value& schema) {
  if (schema.is_true_at(kEither)) return "integer or string";
  const std::string_view type = schema.string_at("type");
  return type.empty() ? "anything" : std::string(type);
}

bool takes_type(const std::string& before, const std::string& after) {
  return before == after || after == "anything" || (before == "integer" && after == "number") ||
         (after == "integer or string" && (before == "integer" || before == "string"));
}

const Value* property(const Value& schema, std::string_view name) {
  const Value* all = schema.find("properties");
  return all == nullptr ? nullptr : all->find(name);
}

// Whether fields stay that it doesn't name.
bool is_open(const Value& schema) { return schema.is_true_at(kKeepUnknown) || type_of(schema) == "anything"; }

const Value* members_of(const Value& schema, std::string_view part) {
  const Value* found = schema.find(part);
  return found != nullptr && found->is_object() ? found : nullptr;
}

// A list whose schema doesn't say is an atomic one.
Value list_type_of(const Value& schema) {
  const Value* said = schema.find(kListType);
  return said == nullptr || said->is_null() ? Value(kAtomic) : *said;
}

const Value& anything() {
  static const Value kAnything = Value::object({{kKeepUnknown, true}});
  return kAnything;
}

bool has_rule(const Value* rules, std::string_view rule) {
  return rules != nullptr && rules->is_array() &&
         std::ranges::any_of(rules->as_array(),
                             [&](const Value& each) { return each.string_at("rule") == rule; });
}

// How much of `before` has to be taken.
enum class Asks : std::uint8_t {
  All,
  Defaults,  // and `after` gives the defaults, too
  // The API server reads an object that is there by its schema before it applies anything to it, and fails
  // for a value of another type; a value out of bounds is replaced, and a field that is gone is dropped.
  Types,
  Fields,  // types, and that every field is there: of what is written, and can be something else next time
};

struct Difference {
  std::string words;
  bool is_late = false;  // operators before this one didn't look for it
};

std::vector<std::string> in_words(const std::vector<Difference>& differences) {
  std::vector<std::string> words;
  for (const Difference& each : differences) words.push_back(each.words);
  return words;
}

class Comparer {
 public:
  explicit Comparer(Asks asks) : asks_(asks) {}

  void compare(const Value& before, const Value& after, const std::string& path) {
    const std::string was = type_of(before), is = type_of(after);
    if (!takes_type(was, is)) return say(path, fmt::format("it becomes {}, and was {}", is, was));
    if (asks_ == Asks::All || asks_ == Asks::Defaults) compare_values(before, after, path);
    compare_list_type(before, after, path);
    if (asks_ != Asks::Types) compare_required(before, after, path);
    compare_fields(before, after, path);
    compare_new_fields(before, after, path);
    if (const Value *a = before.find("items"), *b = after.find("items"); a != nullptr && b != nullptr)
      compare(*a, *b, path + "[]");
  }

  std::vector<Difference> found;

 private:
  void compare_values(const Value& before, const Value& after, const std::string& path) {
    if (before.is_true_at(kKeepUnknown) && !after.is_true_at(kKeepUnknown))
      say(path, "fields that the schema doesn't name are dropped");
    if (before.is_true_at("nullable") && !after.is_true_at("nullable")) say(path, "it can no longer be null");
    compare_words(before, after, path);
    compare_bounds(before, after, path);
    for (const std::string_view name : kExact)
      if (after.find(name) != nullptr) compare_exact(name, before, after, path);
    compare_rules(before, after, path);
  }

  // Any list can be an atomic one, but then appliers own it as a whole.
  void compare_list_type(const Value& before, const Value& after, const std::string& path) {
    const Value was = list_type_of(before), is = list_type_of(after);
    const bool is_atomic = is == Value(kAtomic);
    if (is_atomic && (asks_ == Asks::Types || asks_ == Asks::Fields)) return;
    if (was == is) return compare_exact(kListKeys, before, after, path);
    const bool was_late = std::exchange(is_late_, is_late_ || after.find(kListType) == nullptr);
    say(path, fmt::format("its {} becomes {}", kListType, is_atomic ? kAtomic : encoding::to_json(is)));
    is_late_ = was_late;
  }

  void say(const std::string& path, std::string_view what) {
    found.push_back({fmt::format("{}: {}", path, what), is_late_});
  }

  void compare_words(const Value& before, const Value& after, const std::string& path) {
    const Value *a = before.find("enum"), *b = after.find("enum");
    if (b == nullptr || !b->is_array()) return;
    if (a == nullptr) return say(path, fmt::format("it can only be one of {} now", encoding::to_json(*b)));
    for (const Value& each : a->as_array())
      if (!holds(b, each)) say(path, fmt::format("it can no longer be {}", encoding::to_json(each)));
  }

  void compare_bounds(const Value& before, const Value& after, const std::string& path) {
    for (const Bound& each : kBounds) {
      const Value *a = before.find(each.name), *b = after.find(each.name);
      if (b == nullptr || !b->is_number()) continue;
      const bool is_narrower =
          a == nullptr || !a->is_number() ||
          (each.least ? b->as_double() > a->as_double() : b->as_double() < a->as_double());
      if (is_narrower) say(path, fmt::format("its {} becomes {}", each.name, encoding::to_json(*b)));
    }
    for (const auto& [bound, exclusive] :
         {std::pair("minimum", "exclusiveMinimum"), std::pair("maximum", "exclusiveMaximum")}) {
      const Value *a = before.find(bound), *b = after.find(bound);
      const bool is_same = a != nullptr && b != nullptr && *a == *b;
      if (is_same && after.is_true_at(exclusive) && !before.is_true_at(exclusive))
        say(path, "its bound can no longer be reached");
    }
  }

  void compare_exact(std::string_view name, const Value& before, const Value& after,
                     const std::string& path) {
    const Value *a = before.find(name), *b = after.find(name);
    if ((a == nullptr && b == nullptr) || (a != nullptr && b != nullptr && *a == *b)) return;
    say(path, fmt::format("its {} becomes {}", name, b == nullptr ? "none" : encoding::to_json(*b)));
  }

  void compare_rules(const Value& before, const Value& after, const std::string& path) {
    const Value *a = before.find(kRuleList), *b = after.find(kRuleList);
    if (b == nullptr || !b->is_array()) return;
    for (const Value& each : b->as_array())
      if (!keeps_unchanged(each) && !has_rule(a, each.string_at("rule")))
        say(path, fmt::format("it has a new rule, {}", each.string_at("rule")));
  }

  void compare_required(const Value& before, const Value& after, const std::string& path) {
    const Value *a = before.find("required"), *b = after.find("required");
    if (b == nullptr || !b->is_array()) return;
    for (const Value& each : b->as_array()) {
      if (holds(a, each) || !each.is_string()) continue;
      if (asks_ == Asks::Fields && property(before, each.as_string()) != nullptr) continue;
      const Value* schema = property(after, each.as_string());
      if (schema != nullptr && schema->find("default") != nullptr) continue;
      say(path + "." + each.as_string(), "it has to be set now");
    }
  }

  void compare_fields(const Value& before, const Value& after, const std::string& path) {
    const Value *others_before = members_of(before, "additionalProperties"),
                *others_after = members_of(after, "additionalProperties");
    const bool is_dropped = asks_ != Asks::Types && !is_open(after);
    if (const Value* fields = members_of(before, "properties"))
      for (const Value::Member& each : fields->as_object()) {
        const std::string inner = path + "." + each.key;
        const Value* next = property(after, each.key);
        if (next == nullptr) next = others_after;
        if (next != nullptr)
          compare(each.value, *next, inner);
        else if (is_dropped)
          say(inner, "the field is gone, and its values would be dropped");
        if (asks_ == Asks::Defaults && each.value.find("default") != nullptr &&
            (next == nullptr || next->find("default") == nullptr))
          say(inner, "it has no default");
      }
    if (others_before == nullptr) return;
    if (others_after != nullptr)
      compare(*others_before, *others_after, path + ".*");
    else if (is_dropped)
      say(path, "fields of any name are dropped");
  }

  // Objects may have had such a field already, with any value, or with one of any name.
  void compare_new_fields(const Value& before, const Value& after, const std::string& path) {
    const Value* were = members_of(before, "additionalProperties");
    if (were == nullptr && is_open(before)) were = &anything();
    const Value* fields = members_of(after, "properties");
    // Nobody writes a field of the status that the contract doesn't name.
    if (were == nullptr || fields == nullptr || asks_ == Asks::Fields) return;
    const bool was_late = std::exchange(is_late_, true);
    for (const Value::Member& each : fields->as_object())
      if (property(before, each.key) == nullptr) compare(*were, each.value, path + "." + each.key);
    is_late_ = was_late;
  }

  const Asks asks_;
  bool is_late_ = false;
};

Value without_documentation(Value schema) {
  if (!schema.is_object()) return schema;
  schema.erase("description");
  for (const std::string_view part : {"items", "additionalProperties"})
    if (Value* inner = schema.find(part)) *inner = without_documentation(*inner);
  if (Value* fields = schema.find("properties"); fields != nullptr && fields->is_object())
    for (Value::Member& each : fields->as_object()) each.value = without_documentation(each.value);
  return schema;
}

void collect_differences(const Value& a, const Value& b, const std::string& path,
                         std::vector<std::string>& found) {
  if (a == b) return;
  const Value *fields_a = a.find("properties"), *fields_b = b.find("properties");
  Value rest_a = a, rest_b = b;
  rest_a.erase("properties");
  rest_b.erase("properties");
  if (rest_a != rest_b) found.push_back(fmt::format("{} differs", path));
  const auto has = [](const Value* fields, const std::string& name) {
    return fields != nullptr && fields->find(name) != nullptr;
  };
  if (fields_a != nullptr && fields_a->is_object())
    for (const Value::Member& each : fields_a->as_object()) {
      if (has(fields_b, each.key))
        collect_differences(each.value, *fields_b->find(each.key), path + "." + each.key, found);
      else
        found.push_back(fmt::format("only one has {}.{}", path, each.key));
    }
  if (fields_b != nullptr && fields_b->is_object())
    for (const Value::Member& each : fields_b->as_object())
      if (!has(fields_a, each.key)) found.push_back(fmt::format("only one has {}.{}", path, each.key));
}

const Value* version_named(const Value& crd, std::string_view name) {
  const Value* all = crd.at_path({"spec", "versions"});
  if (all == nullptr || !all->is_array()) return nullptr;
  const auto found = std::ranges::find_if(all->as_array(),
                                          [&](const Value& each) { return each.string_at("name") == name; });
  return found == all->as_array().end() ? nullptr : &*found;
}

// The schema of a version's objects without their status, which is the operator's own.
Value schema_in(const Value& version) {
  const Value* schema = version.at_path({"schema", "openAPIV3Schema"});
  if (schema == nullptr) return {};
  Value copy = *schema;
  if (Value* fields = copy.find("properties"))
    for (const std::string_view name : {"apiVersion", "kind", "metadata", "status"}) fields->erase(name);
  return copy;
}

// The schema of the status; null: it has no place.
Value status_in(const Value& version) {
  const Value* schema = version.at_path({"schema", "openAPIV3Schema"});
  if (schema == nullptr) return {};
  if (const Value* status = property(*schema, "status")) return *status;
  return is_open(*schema) ? anything() : Value();
}

std::vector<Difference> compared(Asks asks, const Value& before, const Value& after, std::string_view path) {
  Comparer comparer(asks);
  comparer.compare(before, after, std::string(path));
  return std::move(comparer.found);
}

// Why the API server can no longer read a status that is there.
std::vector<std::string> unreadable_status(const Value& live, const Value& next) {
  const Value before = status_in(live), after = status_in(next);
  if (before.is_null() || after.is_null()) return {};
  return in_words(compared(Asks::Types, before, after, ".status"));
}

// Why the operator can't write the status that a blueprint's CRD has.
std::vector<Difference> unwritable_status(const Value& wanted, const Value& live) {
  const Value written = status_in(wanted), taken = status_in(live);
  if (written.is_null()) return {};
  if (taken.is_null()) return {{"status: the schema has no such field, so it can't be written", true}};
  std::vector<Difference> found = compared(Asks::Fields, written, taken, ".status");
  for (Difference& each : found) each.is_late = true;
  return found;
}

void compare_names(const Value& live, const Value& next, std::vector<std::string>& found) {
  for (const auto& [field, words] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"group", "its group"}, {"scope", "its scope"}})
    if (live.string_at({"spec", field}) != next.string_at({"spec", field}))
      found.push_back(fmt::format("{} is {}, and would be {}", words, live.string_at({"spec", field}),
                                  next.string_at({"spec", field})));
  for (const std::string_view field : {"kind", "plural"})
    if (live.string_at({"spec", "names", field}) != next.string_at({"spec", "names", field}))
      found.push_back(fmt::format("its {} is {}, and would be {}", field,
                                  live.string_at({"spec", "names", field}),
                                  next.string_at({"spec", "names", field})));
}

// A place in an object: ".spec.size" begins with no dot for people.
std::string of_version(std::string_view version, std::string_view difference) {
  while (difference.starts_with('.')) difference.remove_prefix(1);
  return fmt::format("version {}: {}", version, difference);
}

// Of a version that both have.
std::vector<Difference> version_misfits(const Value& live, const Value& wanted) {
  std::vector<Difference> found = compared(Asks::Defaults, schema_in(wanted), schema_in(live), "");
  for (Difference& each : unwritable_status(wanted, live)) found.push_back(std::move(each));
  for (Difference& each : found) each.words = of_version(wanted.string_at("name"), each.words);
  return found;
}

std::vector<Difference> all_misfits(const Value& live, const Value& wanted) {
  std::vector<std::string> names;
  compare_names(live, wanted, names);
  std::vector<Difference> found;
  for (std::string& each : names) found.push_back({std::move(each)});
  const Value* versions = wanted.at_path({"spec", "versions"});
  if (versions == nullptr || !versions->is_array()) return found;
  for (const Value& each : versions->as_array()) {
    const std::string_view name = each.string_at("name");
    const Value* const there = version_named(live, name);
    if (there == nullptr || !there->is_true_at("served")) {
      if (each.is_true_at("served")) found.push_back({fmt::format("it doesn't serve version {}", name)});
      continue;
    }
    for (Difference& one : version_misfits(*there, each)) found.push_back(std::move(one));
  }
  return found;
}

// Of one schema, without those within it.
void take_late_rules(const Value& live, Value& wanted, const std::string& path,
                     std::vector<std::string>& taken) {
  const Value* const rules = wanted.find(kRuleList);
  if (rules == nullptr || !rules->is_array()) return;
  Value::Array kept;
  for (const Value& each : rules->as_array()) {
    const std::string_view rule = each.string_at("rule");
    if (keeps_unchanged(each) || has_rule(live.find(kRuleList), rule))
      kept.push_back(each);
    else
      taken.push_back(fmt::format("{}: the CRD lacks the rule {}", path, rule));
  }
  if (kept.empty())
    wanted.erase(kRuleList);
  else
    wanted.set(kRuleList, Value(std::move(kept)));
}

void leave_out_rules(const Value& live, Value& wanted, const std::string& path,
                     std::vector<std::string>& taken) {
  if (!wanted.is_object()) return;
  take_late_rules(live, wanted, path, taken);
  for (const auto& [part, step] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"items", "[]"}, {"additionalProperties", ".*"}})
    if (const Value* const there = members_of(live, part))
      if (Value* const inner = wanted.find(part))
        leave_out_rules(*there, *inner, fmt::format("{}{}", path, step), taken);
  Value* const fields = wanted.find("properties");
  if (fields == nullptr || !fields->is_object()) return;
  for (Value::Member& each : fields->as_object())
    if (const Value* const there = property(live, each.key))
      leave_out_rules(*there, each.value, path + "." + each.key, taken);
}

}  // namespace

std::vector<std::string> leave_out_late_rules(const Value& live, Value& wanted) {
  std::vector<std::string> taken;
  Value* const versions = wanted["spec"].find("versions");
  if (versions == nullptr || !versions->is_array()) return taken;
  for (Value& each : versions->as_array()) {
    const std::string name(each.string_at("name"));
    const Value* const there = version_named(live, name);
    const Value* const before = there == nullptr ? nullptr : there->at_path({"schema", "openAPIV3Schema"});
    Value* const schema = each["schema"].find("openAPIV3Schema");
    if (before == nullptr || schema == nullptr) continue;
    std::vector<std::string> found;
    leave_out_rules(*before, *schema, "", found);
    for (const std::string& one : found) taken.push_back(of_version(name, one));
  }
  return taken;
}

std::vector<std::string> narrowings(const Value& before, const Value& after, std::string_view path) {
  return in_words(compared(Asks::All, before, after, path));
}

std::vector<std::string> schema_differences(const Value& a, const Value& b, std::string_view path) {
  std::vector<std::string> found;
  collect_differences(without_documentation(a), without_documentation(b), std::string(path), found);
  return found;
}

std::vector<std::string> breaking_changes(const Value& live, const Value& next) {
  std::vector<std::string> found;
  compare_names(live, next, found);
  const Value* versions = live.at_path({"spec", "versions"});
  if (versions == nullptr || !versions->is_array()) return found;
  for (const Value& each : versions->as_array()) {
    const std::string_view name = each.string_at("name");
    const Value* const after = version_named(next, name);
    if (after == nullptr) {
      if (holds(live.at_path({"status", "storedVersions"}), Value(name)))
        found.push_back(fmt::format("version {} is gone, and objects may be stored in it", name));
      else if (each.is_true_at("served"))
        found.push_back(fmt::format("version {} is gone, and clients may use it", name));
      continue;
    }
    if (each.is_true_at("served") && !after->is_true_at("served"))
      found.push_back(fmt::format("version {} is no longer served, and clients may use it", name));
    for (const std::string& one : narrowings(schema_in(each), schema_in(*after), ""))
      found.push_back(of_version(name, one));
    for (const std::string& one : unreadable_status(each, *after)) found.push_back(of_version(name, one));
  }
  return found;
}

std::vector<std::string> misfits(const Value& live, const Value& wanted) {
  return in_words(all_misfits(live, wanted));
}

std::vector<std::string> misfits_in_force(const Value& live, const Value& wanted,
                                          std::vector<std::string>& tolerated) {
  std::vector<std::string> found;
  for (Difference& each : all_misfits(live, wanted))
    (each.is_late ? tolerated : found).push_back(std::move(each.words));
  return found;
}

}  // namespace mist::blueprint
