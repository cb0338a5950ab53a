#include "encoding/schema.h"

#include <mist_runtime.h>

#include <algorithm>
#include <optional>

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
constexpr std::size_t kMostIssues = 100;
constexpr std::size_t kMostDefaults = 100'000;
/// Of them as text, about: one large default may be referred to from many places.
constexpr std::size_t kLargestDefaults = std::size_t{16} << 20;
/// Of all patterns together: some hundred real ones. A compiled one may have thousands of times its size.
constexpr std::size_t kLongestPatterns = std::size_t{64} << 10;
/// The validator follows them when it compiles a schema, each chain in quadratic time and on its stack.
constexpr std::size_t kMostReferences = 10'000;
/// Of schema_cost.h, in one validation: about a second of work, and where every step finds a mistake, which
/// the validator keeps until it is done, half a GiB. Far beyond what real schemas need.
constexpr std::uint64_t kMostSteps = 2'000'000;

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
  while (!open.empty() && sum.patterns <= kLongestPatterns && sum.references <= kMostReferences) {
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

// The defaults of one schema; each subschema at most once on the way down, since one that contains itself
// has no end.
class Defaults {
 public:
  explicit Defaults(const Value& root) : root_(root) {}

  bool too_many() const { return visits_ > kMostDefaults; }
  bool too_large() const { return length_ > kLargestDefaults; }

  std::optional<Value> of(const Value& schema) {
    if (open_.size() > kDeepestDefault || std::ranges::find(open_, &schema) != open_.end())
      return std::nullopt;
    if (++visits_ > kMostDefaults || too_large()) return std::nullopt;
    open_.push_back(&schema);
    auto result = find(schema);
    open_.pop_back();
    return result;
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
    for (const Value::Member& property : properties->as_object()) {
      if (known.contains(property.key)) continue;
      auto value = of(property.value);
      if (!value) continue;
      length_ += property.key.size();
      Value::Member& added = object.as_object().emplace_back();
      added.key = property.key;
      added.value = std::move(*value);
    }
    if (!is_given && (object.empty() || !has_all_required(schema, object)) && open_.size() > 1)
      return std::nullopt;
    return object;
  }

  const Value& root_;
  PointerFinder pointers_;
  std::vector<const Value*> open_;
  std::size_t visits_ = 0, length_ = 0;
};

}  // namespace

void Schema::Free::operator()(void* handle) const { mist_schema_free(handle); }

Result<Schema> Schema::compile(const Value& schema) {
  const auto refuse = [](std::string why, std::string hint) {
    Error failure = error(ErrorKind::Invalid, "this JSON Schema can't be used: {}", why);
    failure.hint = std::move(hint);
    return failure;
  };
  if (const std::string place = endless_reference(schema); !place.empty())
    return refuse(fmt::format("{} refers to itself for one and the same value", place),
                  "let the reference pass through properties or items");
  if (Defaults defaults(schema); (void)defaults.of(schema), defaults.too_many())
    return refuse(fmt::format("its defaults are more than {} values", kMostDefaults),
                  "give the defaults of large parts in the package's code");
  else if (defaults.too_large())
    return refuse(fmt::format("its defaults are more than {} MiB", kLargestDefaults >> 20),
                  "give the defaults of large parts in the package's code");
  const Compiled compiled = compiled_of(schema);
  if (compiled.references > kMostReferences)
    return refuse(
        fmt::format("it has more than {} references", kMostReferences),
        "write what is referred to once where it is needed, or check such values in the package's code");
  if (compiled.patterns > kLongestPatterns)
    return refuse(fmt::format("its patterns are more than {} KiB", kLongestPatterns >> 10),
                  "use fewer or simpler patterns, or check such values in the package's code");
  const std::string text = to_json(schema);
  void* handle = nullptr;
  const RustText problem(mist_schema_new(text.data(), text.size(), &handle));
  if (problem != nullptr)
    return error(ErrorKind::Invalid, "this is not valid JSON Schema: {}", problem.get())
        .with_hint("JSON Schema 2020-12 is expected; a $ref may only begin with \"#\"");
  return Schema(schema, handle);
}

std::vector<SchemaIssue> Schema::validate(const Value& value) const {
  if (validation_steps(schema_, value, kMostSteps) > kMostSteps)
    return {{.instance_path = {},
             .schema_path = {},
             .message = fmt::format("the schema would need more than {} steps to check these values: its "
                                    "references multiply",
                                    kMostSteps)}};
  const std::string text = to_json(value);
  const RustText answer(mist_schema_validate(handle_.get(), text.data(), text.size()));
  const Result<Value> parsed = parse_json(answer == nullptr ? "" : answer.get());
  if (!parsed.ok() || !parsed->is_array())
    return {{.instance_path = {}, .schema_path = {}, .message = "the schema validator gave no answer"}};
  std::vector<SchemaIssue> issues;
  for (const Value& issue : parsed->as_array()) {
    const std::string_view instance_path = issue.string_at("instance_path");
    const std::string_view schema_path = issue.string_at("schema_path");
    for (SchemaMessage& each :
         schema_messages(schema_, schema_path, value, instance_path, issue.string_at("message")))
      issues.push_back({.instance_path = std::string(instance_path),
                        .schema_path = std::string(schema_path),
                        .message = std::move(each.text),
                        .member = std::move(each.member),
                        .text_wanted = each.text_wanted});
  }
  if (issues.size() > kMostIssues) issues.resize(kMostIssues);
  return issues;
}

Value schema_defaults(const Value& schema) {
  auto result = Defaults(schema).of(schema);
  return result && result->is_object() ? std::move(*result) : Value::object();
}

}  // namespace mist::encoding
