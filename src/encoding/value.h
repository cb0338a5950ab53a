#pragma once
// Value: the JSON data model that every document becomes, YAML or JSON, ours or a guest's. Objects keep the
// order in which their members were written; equality ignores that order, as JSON does. Integers stay exact:
// int64, or uint64 above that; everything else numeric is a double. A value read from a text remembers its
// line and column. A plain value; any thread for const use.

#include <compare>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace mist::encoding {

/// Where a value began in its text; line 0: made by a program.
struct Position {
  std::uint32_t line = 0;    ///< from 1
  std::uint32_t column = 0;  ///< from 1, in characters
};

class Value {
 public:
  enum class Kind : std::uint8_t { Null, Bool, Int, UInt, Double, String, Array, Object };
  struct Member;
  using Array = std::vector<Value>;
  using Object = std::vector<Member>;

  Value();  ///< null
  Value(std::nullptr_t);
  Value(std::same_as<bool> auto flag);
  Value(std::signed_integral auto number);
  /// One form for each number: Int where it fits.
  Value(std::unsigned_integral auto number)
    requires(!std::same_as<decltype(number), bool>);
  Value(double number);
  Value(std::string text);
  Value(std::string_view text);
  Value(const char* text);
  Value(Array items);
  Value(Object members);

  /// `Value::object({{"kind", "Pod"}, {"metadata", …}})`.
  static Value object(std::initializer_list<std::pair<std::string_view, Value>> members = {});
  static Value array(std::initializer_list<Value> items = {});

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool is_null() const { return kind() == Kind::Null; }
  bool is_bool() const { return kind() == Kind::Bool; }
  bool is_int() const { return kind() == Kind::Int; }
  bool is_number() const { return kind() == Kind::Int || kind() == Kind::UInt || kind() == Kind::Double; }
  bool is_string() const { return kind() == Kind::String; }
  bool is_array() const { return kind() == Kind::Array; }
  bool is_object() const { return kind() == Kind::Object; }

  // Access by kind; a defect (MIST_CHECK) if the kind is another.
  bool as_bool() const;
  std::int64_t as_int() const;
  std::uint64_t as_uint() const;  ///< UInt only
  double as_double() const;       ///< any number
  const std::string& as_string() const;
  const Array& as_array() const;
  Array& as_array();
  const Object& as_object() const;
  Object& as_object();

  /// The member `key`; null if there is none, or this is not an object.
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  /// The value below members: `at_path({"metadata", "name"})`; null if any step is missing.
  const Value* at_path(std::initializer_list<std::string_view> keys) const;
  /// The string at `key` or `path`; empty if it isn't there or is not a string. The view lives as long as
  /// this value.
  std::string_view string_at(std::string_view key) const;
  std::string_view string_at(std::initializer_list<std::string_view> keys) const;
  /// The same of an integer, and `otherwise`.
  std::int64_t int_at(std::string_view key, std::int64_t otherwise = 0) const;
  std::int64_t int_at(std::initializer_list<std::string_view> keys, std::int64_t otherwise = 0) const;
  /// Whether `true` is there; anything else isn't true.
  bool is_true_at(std::string_view key) const;
  bool is_true_at(std::initializer_list<std::string_view> keys) const;
  /// The strings of the list at `key`; none if it isn't there or is no list. Other items are left out.
  std::vector<std::string> texts_at(std::string_view key) const;

  /// The member `key`, made null if missing; this becomes an object if it was null.
  Value& operator[](std::string_view key);
  /// Sets the member in place, or appends it.
  void set(std::string_view key, Value value);
  /// True if there was one.
  bool erase(std::string_view key);
  void push_back(Value value);

  /// Makes this an empty string and lends it, so that a reader can fill it in place.
  std::string& make_string();

  bool empty() const;        ///< null, "", [], {}
  std::size_t size() const;  ///< of an array or object; else 0

  Position position() const { return position_; }
  void set_position(Position position) { position_ = position; }

  /// Objects compare without order, 1 == 1.0 is false, NaN equals itself; positions don't count.
  friend bool operator==(const Value& a, const Value& b);

  /// Members of all objects below in ascending byte order: the canonical form before a digest.
  void sort_keys();

 private:
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object> data_;
  Position position_;
};

struct Value::Member {
  std::string key;
  Value value;
  friend bool operator==(const Member&, const Member&) = default;
};

// Below Member, without which the variant isn't complete.
inline Value::Value() = default;
inline Value::Value(std::nullptr_t) {}
Value::Value(std::same_as<bool> auto flag) : data_(flag) {}
Value::Value(std::signed_integral auto number) : data_(static_cast<std::int64_t>(number)) {}
Value::Value(std::unsigned_integral auto number)
  requires(!std::same_as<decltype(number), bool>)
{
  if (number <= static_cast<std::uint64_t>(INT64_MAX))
    data_ = static_cast<std::int64_t>(number);
  else
    data_ = static_cast<std::uint64_t>(number);
}
inline Value::Value(double number) : data_(number) {}
inline Value::Value(std::string text) : data_(std::move(text)) {}
inline Value::Value(std::string_view text) : data_(std::string(text)) {}
inline Value::Value(const char* text) : data_(std::string(text)) {}
inline Value::Value(Array items) : data_(std::move(items)) {}
inline Value::Value(Object members) : data_(std::move(members)) {}
inline Value Value::array(std::initializer_list<Value> items) { return Value(Array(items)); }
inline std::string& Value::make_string() { return data_.emplace<std::string>(); }

/// "null", "boolean", "integer", "number", "string", "array", "object": JSON Schema's names.
std::string_view kind_name(Value::Kind kind);

/// Whether there are more than so many arrays and objects in one another: 1 are more than 0.
bool nests_deeper(const Value& value, int levels);

/// Helm's rule for values: objects merge member by member, everything else is replaced, null removes. `over`
/// wins.
void merge_into(Value& base, const Value& over);
/// The same, but null replaces: for values that are yet to be merged into defaults, which it then removes.
void merge_keeping_nulls(Value& base, const Value& over);

}  // namespace mist::encoding
