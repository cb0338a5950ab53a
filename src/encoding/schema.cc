#include "encoding/schema.h"

#include <mist_runtime.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "encoding/json.h"
#include "encoding/member_finder.h"
#include "encoding/schema_cost.h"
#include "encoding/schema_message.h"

namespace mist::encoding {
namespace {

/// Frees a text of the Rust library.
struct FreeText {
  void operator()(char* text) const { mist_string_free(text); }
};
using RustText = std::unique_ptr<char, FreeText>;

/// More levels, or more values, than any real package's defaults have; a hostile schema's references double.
constexpr int kDeepestDefault = 64;
/// Schemas that one and the same object has to fit, through allOf and references.
constexpr std::size_t kMostParts = 200;
constexpr std::size_t kMostIssues = 100;
constexpr std::size_t kMostDefaults = 100'000;
/// Members and items that are looked at to fill a value: its lists may name a schema's defaults many times.
constexpr std::size_t kMostFilled = 1'000'000;
/// Of them as text, about: one large default may be referred to from many places.
constexpr std::size_t kLargestDefaults = std::size_t{16} << 20;
/// The bounds of a single schema.
constexpr ValidationBudget kOfOne;

bool has_all_required(const Value& schema, const Value& object) {
  const Value* required = schema.find("required");
  if (required == nullptr || !required->is_array()) return true;
  const MemberFinder members(&object);
  return std::ranges::all_of(required->as_array(), [&](const Value& name) {
    return !name.is_string() || members.contains(name.as_string());
  });
}

// Texts and values of it, about its length as JSON; stops above `limit`.
std::size_t length_of(const Value& value, std::size_t limit) {
  std::size_t sum = 0;
  std::vector<const Value*> open{&value};
  while (!open.empty() && sum <= limit) {
    const Value& at = *open.back();
    open.pop_back();
    sum += at.is_string() ? at.as_string().size() + 8 : 8;
    if (at.is_array())
      for (const Value& item : at.as_array()) open.push_back(&item);
    if (at.is_object())
      for (const Value::Member& member : at.as_object()) {
        sum += member.key.size();
        open.push_back(&member.value);
      }
  }
  return sum;
}

// The parts of a schema that a validator compiles: the bytes of all patterns, and the number of references.
struct Compiled {
  std::size_t patterns = 0, references = 0;
};
Compiled compiled_of(const Value& schema) {
  Compiled sum;
  std::vector<const Value*> open{&schema};
  while (!open.empty() && sum.patterns <= kOfOne.pattern_bytes && sum.references <= kOfOne.references) {
    const Value& at = *open.back();
    open.pop_back();
    if (at.is_array())
      for (const Value& item : at.as_array()) open.push_back(&item);
    if (!at.is_object()) continue;
    for (const Value::Member& member : at.as_object()) {
      if (member.key == "pattern" && member.value.is_string())
        sum.patterns += member.value.as_string().size();
      if (member.key == "patternProperties" && member.value.is_object())
        for (const Value::Member& pattern : member.value.as_object()) sum.patterns += pattern.key.size();
      if (member.key.starts_with('$') && member.key.ends_with("ef") && member.value.is_string())
        ++sum.references;
      open.push_back(&member.value);
    }
  }
  return sum;
}

// An object that nobody gave could be one too many there, choose the alternative, or make others required.
bool has_alternatives(const Value& schema) {
  constexpr std::array<std::string_view, 8> kWords{
      "oneOf",           "anyOf", "not", "if", "maxProperties", "dependencies", "dependentRequired",
      "dependentSchemas"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return schema.find(word) != nullptr; });
}

// The defaults of one schema; each subschema at most once on the way down, since one that contains itself
// has no end.
class Defaults {
 public:
  explicit Defaults(const Value& root, std::size_t most = kMostDefaults) : root_(root), most_(most) {}

  bool too_many() const { return visits_ > most_; }
  bool too_large() const { return length_ > kLargestDefaults; }

  std::optional<Value> of(const Value& schema) {
    if (open_.size() > kDeepestDefault || std::ranges::find(open_, &schema) != open_.end())
      return std::nullopt;
    ++visits_;
    if (too_many() || too_large()) return std::nullopt;
    open_.push_back(&schema);
    auto result = find(schema);
    open_.pop_back();
    return result;
  }

  // For what `value` lacks, into the objects that are there. `given` is what was laid over the defaults, in
  // which null takes one away; may be null.
  void fill(const Value& schema, Value& value, const Value* given) {
    const std::size_t outer = open_.size();
    for (const Value* at = &schema; at != nullptr && open_.size() - outer < kDeepestDefault;
         at = pointers_.local_reference(root_, *at))
      open_.push_back(at);
    const bool only_own = has_conditions(schema);
    // As in find(), what a reference names comes before what stands beside the reference.
    for (; open_.size() > outer; open_.pop_back()) fill_by(*open_.back(), only_own, value, given);
  }

 private:
  std::optional<Value> find(const Value& schema) {
    std::optional<Value> result;
    if (const Value* own = schema.find("default")) {
      length_ += length_of(*own, kLargestDefaults);
      if (too_large()) return std::nullopt;
      result = *own;
    }
    if (const Value* target = pointers_.local_reference(root_, schema); target != nullptr && !result)
      result = of(*target);
    const Value* properties = schema.find("properties");
    if (properties == nullptr || !properties->is_object() || (result && !result->is_object())) return result;
    const bool is_given = result.has_value();
    Value object = is_given ? std::move(*result) : Value::object();
    const Value given = object;
    const MemberFinder known(&given);
    for (const Value::Member& property : properties->as_object())
      if (!known.contains(property.key)) add(property, object);
    if (!is_given && (object.empty() || !has_all_required(schema, object)) && open_.size() > 1)
      return std::nullopt;
    return object;
  }

  void add(const Value::Member& property, Value& object) {
    auto value = of(property.value);
    if (!value) return;
    length_ += property.key.size();
    Value::Member& added = object.as_object().emplace_back();
    added.key = property.key;
    added.value = std::move(*value);
  }

  // Without the schema that `schema` refers to. `only_own`: only what has a default of its own is added, no
  // object that its properties' defaults make.
  void fill_by(const Value& schema, bool only_own, Value& value, const Value* given) {
    if (value.is_array()) fill_items(schema, value);
    if (!value.is_object()) return;
    const Value* const properties = schema.find("properties");
    const MemberFinder known(properties), laid(given);
    if (properties != nullptr && properties->is_object()) fill_properties(*properties, only_own, value, laid);
    fill_others(schema, known, value, laid);
  }

  // A list is given as a whole: null in it takes nothing away.
  void fill_items(const Value& schema, Value& list) {
    const Value* const first = schema.find("prefixItems");
    const Value* const others = schema.find("items");
    const std::size_t apart = first != nullptr && first->is_array() ? first->size() : 0;
    for (std::size_t i = 0; i < list.size() && take(1); ++i) {
      const Value* const item = i < apart ? &first->as_array()[i] : others;
      if (item != nullptr) fill(*item, list.as_array()[i], nullptr);
    }
  }

  void fill_properties(const Value& properties, bool only_own, Value& object, const MemberFinder& given) {
    if (!take(properties.size())) return;
    const MemberFinder members(&object);
    std::unordered_set<std::string_view> taken_away;
    for (const Value::Member& property : properties.as_object()) {
      const Value* const laid = given.find(property.key);
      const auto place = members.place(property.key);
      if (!place) {
        const bool wanted = !only_own || has_default(property.value);
        if (laid == nullptr && wanted) add(property, object);
        continue;
      }
      Value& there = object.as_object()[*place].value;
      // Null stays in an object that had no defaults to be laid over.
      if (there.is_null() && laid != nullptr && laid->is_null()) {
        if (of(property.value)) taken_away.insert(property.key);
      } else {
        fill(property.value, there, laid);
      }
    }
    if (!taken_away.empty())
      std::erase_if(object.as_object(),
                    [&](const Value::Member& member) { return taken_away.contains(member.key); });
  }

  // Itself, by a reference, or by a part of allOf, which is also how one schema extends another. One of more
  // parts than are looked at may have some.
  bool has_conditions(const Value& schema) {
    const auto [known, is_new] = conditions_.try_emplace(&schema, true);
    if (!is_new) return known->second;
    std::vector<const Value*> parts{&schema};
    const auto add_part = [&](const Value* part) {
      if (part != nullptr && std::ranges::find(parts, part) == parts.end()) parts.push_back(part);
    };
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Value& part = *parts[i];
      const Value* const all_of = part.find("allOf");
      const std::size_t further = all_of != nullptr && all_of->is_array() ? all_of->size() : 0;
      if (has_alternatives(part) || parts.size() + further > kMostParts) return true;
      add_part(pointers_.local_reference(root_, part));
      for (std::size_t j = 0; j < further; ++j) add_part(&all_of->as_array()[j]);
    }
    return known->second = false;
  }

  // Itself, or by a reference.
  bool has_default(const Value& schema) {
    const Value* at = &schema;
    for (int i = 0; at != nullptr && i < kDeepestDefault; ++i, at = pointers_.local_reference(root_, *at))
      if (at->find("default") != nullptr) return true;
    return false;
  }

  void fill_others(const Value& schema, const MemberFinder& properties, Value& object,
                   const MemberFinder& given) {
    const Value* const others = schema.find("additionalProperties");
    const Value* const patterns = schema.find("patternProperties");
    // Only the validator knows which members a pattern describes.
    if (others == nullptr || !others->is_object() || (patterns != nullptr && !patterns->empty())) return;
    for (Value::Member& member : object.as_object()) {
      if (!take(1)) return;
      if (!properties.contains(member.key)) fill(*others, member.value, given.find(member.key));
    }
  }

  bool take(std::size_t visits) {
    visits_ += visits;
    return !too_many() && !too_large();
  }

  const Value& root_;
  std::size_t most_;
  PointerFinder pointers_;
  std::vector<const Value*> open_;
  std::unordered_map<const Value*, bool> conditions_;  // what has_conditions() found
  std::size_t visits_ = 0, length_ = 0;
};

struct FreeValidator {
  void operator()(void* handle) const { mist_schema_free(handle); }
};
using Validator = std::unique_ptr<void, FreeValidator>;

Error unusable(std::string_view why, std::string hint) {
  return error(ErrorKind::Invalid, "this JSON Schema can't be used: {}", why).with_hint(std::move(hint));
}

Result<Validator> compile_validator(const Value& schema) {
  if (const std::string place = endless_reference(schema); !place.empty())
    return unusable(fmt::format("{} refers to itself for one and the same value", place),
                    "let the reference pass through properties or items");
  const Compiled compiled = compiled_of(schema);
  if (compiled.references > kOfOne.references)
    return unusable(
        fmt::format("it has more than {} references", kOfOne.references),
        "write what is referred to once where it is needed, or check such values in the package's code");
  if (compiled.patterns > kOfOne.pattern_bytes)
    return unusable(fmt::format("its patterns are more than {} KiB", kOfOne.pattern_bytes >> 10),
                    "use fewer or simpler patterns, or check such values in the package's code");
  const std::string text = to_json(schema);
  void* handle = nullptr;
  const RustText problem(mist_schema_new(text.data(), text.size(), &handle));
  if (problem != nullptr)
    return error(ErrorKind::Invalid, "this is not valid JSON Schema: {}", problem.get())
        .with_hint("JSON Schema 2020-12 is expected; a $ref may only begin with \"#\"");
  return Validator(handle);
}

// Takes what compiling the schema may cost. False: there is less, and nothing was taken.
bool take_for_compiling(ValidationBudget& budget, const Value& schema) {
  const std::size_t length = length_of(schema, budget.schema_bytes);
  if (length > budget.schema_bytes) return false;
  const Compiled compiled = compiled_of(schema);
  if (compiled.references > budget.references || compiled.patterns > budget.pattern_bytes) return false;
  budget.schema_bytes -= length;
  budget.references -= compiled.references;
  budget.pattern_bytes -= compiled.patterns;
  return true;
}

// One answer of the validator.
struct Said {
  std::string instance_path;
  std::string schema_path;
  std::string words;
};

std::string_view keyword_of(const Said& said) {
  return std::string_view(said.schema_path).substr(said.schema_path.rfind('/') + 1);
}

// Answers for a value. Where it fits none of several alternatives, the validator says no more than the value:
// instead, the answers for the alternative that it nearly fits. They are compiled for that, a bounded number.
class Validation {
 public:
  explicit Validation(ValidationBudget& budget) : budget_(budget) {}

  // Nothing: the budget doesn't suffice.
  std::optional<std::vector<Said>> of(const void* validator, const Value& schema, const Value& value) {
    const std::uint64_t needed = validation_steps(schema, value, budget_.steps);
    if (needed > budget_.steps) return std::nullopt;
    budget_.steps -= needed;
    const std::string text = to_json(value);
    const RustText answer(mist_schema_validate(validator, text.data(), text.size()));
    const Result<Value> parsed = parse_json(answer == nullptr ? "" : answer.get());
    if (!parsed.ok() || !parsed->is_array())
      return std::vector<Said>{{{}, {}, "the schema validator gave no answer"}};
    std::vector<Said> all;
    for (const Value& each : parsed->as_array()) {
      Said said{std::string(each.string_at("instance_path")), std::string(each.string_at("schema_path")),
                std::string(each.string_at("message"))};
      std::vector<Said> nearest = by_alternative(schema, value, said);
      if (nearest.empty()) nearest.push_back(std::move(said));
      std::ranges::move(nearest, std::back_inserter(all));
    }
    return all;
  }

 private:
  // Empty: it is about no alternatives, or the value fits several of them, or is as far from one as from
  // another.
  std::vector<Said> by_alternative(const Value& schema, const Value& value, const Said& said) {
    const std::string_view keyword = keyword_of(said);
    if (keyword != "oneOf" && keyword != "anyOf") return {};
    const Value* const parts = at_schema_pointer(schema, said.schema_path);
    const Value* const wrong = at_pointer(value, said.instance_path);
    if (parts == nullptr || !parts->is_array() || wrong == nullptr) return {};
    std::vector<std::vector<Said>> alternatives;
    for (std::size_t i = 0; i < parts->size(); ++i) {
      const Value& part = parts->as_array()[i];
      if (!part.is_object() || budget_.alternatives == 0) return {};
      --budget_.alternatives;
      const Value whole = with_definitions_of(schema, part);
      if (!take_for_compiling(budget_, whole)) return {};
      const auto validator = compile_validator(whole);
      if (!validator.ok()) return {};
      std::optional<std::vector<Said>> found = of(validator->get(), whole, *wrong);
      if (!found || found->empty()) return {};
      for (Said& each : *found) {
        // The target of a reference has its own path, from the root.
        std::string below = fmt::format("{}/{}{}", said.schema_path, i, each.schema_path);
        if (at_schema_pointer(schema, below) != nullptr) each.schema_path = std::move(below);
      }
      alternatives.push_back(*std::move(found));
    }
    if (alternatives.empty()) return {};
    std::vector<Said> nearest = nearest_of(alternatives);
    if (std::vector<Said> choice = common_choice(schema, *wrong, nearest, alternatives); !choice.empty())
      nearest = std::move(choice);
    for (Said& each : nearest) each.instance_path.insert(0, said.instance_path);
    return nearest;
  }

  static std::vector<Said> nearest_of(const std::vector<std::vector<Said>>& alternatives) {
    const std::vector<Said>* nearest = nullptr;
    Distance shortest = kFarthest;
    for (const std::vector<Said>& each : alternatives) {
      const Distance distance = distance_of(each);
      if (distance == shortest) nearest = nullptr;
      if (distance >= shortest) continue;
      shortest = distance;
      nearest = &each;
    }
    return nearest != nullptr && !std::get<0>(shortest) ? *nearest : std::vector<Said>();
  }

  // A value that several alternatives, as near as each other but for it, want each as another constant.
  static std::vector<Said> common_choice(const Value& schema, const Value& wrong,
                                         const std::vector<Said>& nearest,
                                         const std::vector<std::vector<Said>>& alternatives) {
    const std::vector<Said>& looked_at = nearest.empty() ? alternatives.front() : nearest;
    const auto chosen = std::ranges::find_if(looked_at, is_choice);
    const Value* const value = chosen == looked_at.end() ? nullptr : at_pointer(wrong, chosen->instance_path);
    if (value == nullptr) return {};
    Value choices = Value::array();
    std::size_t wanted_by = 0;
    for (const std::vector<Said>& each : alternatives) {
      if (std::ranges::count_if(each, is_choice) != std::ranges::count_if(looked_at, is_choice)) continue;
      const auto same = std::ranges::find_if(each, [&](const Said& other) {
        return is_choice(other) && other.instance_path == chosen->instance_path;
      });
      const Value* const limit = same == each.end() ? nullptr : at_schema_pointer(schema, same->schema_path);
      if (limit == nullptr) continue;
      ++wanted_by;
      if (keyword_of(*same) == "const") choices.push_back(*limit);
      if (keyword_of(*same) == "enum" && limit->is_array())
        for (const Value& choice : limit->as_array()) choices.push_back(choice);
    }
    if (wanted_by < 2) return {};
    return {{chosen->instance_path,
             {},
             must_be_among(choices, *value, shows_value(schema, chosen->schema_path))}};
  }

  // Of another type; with another constant, by which alternatives are told apart; the number of faults.
  using Distance = std::tuple<bool, std::size_t, std::size_t>;
  static constexpr Distance kFarthest{true, SIZE_MAX, SIZE_MAX};

  static bool is_choice(const Said& said) {
    return keyword_of(said) == "const" || keyword_of(said) == "enum";
  }

  static Distance distance_of(const std::vector<Said>& all) {
    const auto is_type = [](const Said& each) {
      return each.instance_path.empty() && keyword_of(each) == "type";
    };
    return {std::ranges::any_of(all, is_type),
            static_cast<std::size_t>(std::ranges::count_if(all, is_choice)), all.size()};
  }

  // References of a part lead into the whole schema.
  static Value with_definitions_of(const Value& schema, const Value& part) {
    Value whole = part;
    for (const std::string_view name : {"$schema", "$defs", "definitions"})
      if (const Value* const found = schema.find(name); found != nullptr && whole.find(name) == nullptr)
        whole.set(name, *found);
    return whole;
  }

  ValidationBudget& budget_;
};

std::vector<SchemaIssue> issues_of(const std::vector<Said>& all, const Value& schema, const Value& value) {
  std::vector<SchemaIssue> issues;
  for (const Said& said : all) {
    for (SchemaMessage& each :
         schema_messages(schema, said.schema_path, value, said.instance_path, said.words))
      issues.push_back({.instance_path = said.instance_path,
                        .schema_path = said.schema_path,
                        .message = std::move(each.text),
                        .member = std::move(each.member),
                        .text_wanted = each.text_wanted});
  }
  if (issues.size() > kMostIssues) issues.resize(kMostIssues);
  return issues;
}

}  // namespace

void Schema::Free::operator()(void* handle) const { mist_schema_free(handle); }

Result<Schema> Schema::compile(const Value& schema) {
  if (Defaults defaults(schema); (void)defaults.of(schema), defaults.too_many())
    return unusable(fmt::format("its defaults are more than {} values", kMostDefaults),
                    "give the defaults of large parts in the package's code");
  else if (defaults.too_large())
    return unusable(fmt::format("its defaults are more than {} MiB", kLargestDefaults >> 20),
                    "give the defaults of large parts in the package's code");
  MIST_TRY(Validator validator, compile_validator(schema));
  return Schema(schema, validator.release());
}

std::vector<SchemaIssue> Schema::validate(const Value& value) const {
  ValidationBudget budget;
  if (const auto all = Validation(budget).of(handle_.get(), schema_, value))
    return issues_of(*all, schema_, value);
  const std::string words =
      fmt::format("the schema would need more than {} steps to check these values: its references multiply",
                  kOfOne.steps);
  return issues_of(std::vector<Said>{{{}, {}, words}}, schema_, value);
}

std::optional<std::vector<SchemaIssue>> validate_within(ValidationBudget& budget, const Value& schema,
                                                        const Value& value) {
  if (!take_for_compiling(budget, schema)) return std::nullopt;
  const auto validator = compile_validator(schema);
  if (!validator.ok()) return std::nullopt;
  const auto all = Validation(budget).of(validator->get(), schema, value);
  return all ? std::optional(issues_of(*all, schema, value)) : std::nullopt;
}

Value schema_defaults(const Value& schema) {
  auto result = Defaults(schema).of(schema);
  return result && result->is_object() ? std::move(*result) : Value::object();
}

Status fill_schema_defaults(const Value& schema, Value& value, const Value& given) {
  Defaults defaults(schema, kMostFilled);
  defaults.fill(schema, value, &given);
  if (!defaults.too_many() && !defaults.too_large()) return {};
  const std::string most = defaults.too_many() ? fmt::format("{} steps", kMostFilled)
                                               : fmt::format("{} MiB", kLargestDefaults >> 20);
  return error(ErrorKind::Invalid, "filling the schema's defaults into the values takes more than {}", most)
      .with_hint("the values have too many objects, or the schema has too many properties for them");
}

}  // namespace mist::encoding
