#pragma once
// Where the API server stores what it is given in another spelling: quantities, bytes and times of the
// built-in kinds, at exactly the places where their schemas have them. A table of types and members,
// composed as the types are (a Deployment has a PodTemplateSpec, that has a PodSpec, …);
// real_cluster_test.cc holds it against the OpenAPI documents of the server. At every other place, and in
// custom resources, what is written is JSON and nothing else. Pure; any thread.

#include <array>
#include <string_view>

#include "encoding/value.h"

namespace mist::apply {

enum class StoredForm : std::uint8_t {
  Json,      ///< as it was written
  Quantity,  ///< in its canonical spelling: 0.5 is 500m
  Bytes,     ///< base64 with padding and without line breaks
  Time,      ///< RFC 3339 in UTC
  List,      ///< a list that is written as a whole, where null stands for the empty one
};

/// A place in an object of a built-in kind. Items of a list are at the place of the list.
class TypedPlace {
 public:
  TypedPlace() = default;  ///< somewhere that the table doesn't name
  static TypedPlace object(std::string_view group, std::string_view kind);

  TypedPlace member(std::string_view name) const;
  StoredForm form() const;
  /// "PodSpec"; empty: a type without a place of note.
  std::string_view type() const { return map_ ? std::string_view() : type_; }

 private:
  TypedPlace(std::string_view type, bool map) : type_(type), map_(map) {}
  std::string_view type_ = {};
  bool map_ = false;  // from names to values of type_
};

/// The object as it is applied: built-in types have no null, so that a member that is null is left out, or
/// where a list is written as a whole, empty; and an aggregated ClusterRole has no rules of its own: the
/// server fills them in. Custom resources stay as they are.
void drop_nulls(encoding::Value& object);

/// Whether the server stores `wanted` as exactly `stored`: a canonical spelling.
bool stored_as(StoredForm form, const encoding::Value& wanted, const encoding::Value& stored);

/// The same number, to the last digit: 1 and 1.0 are, 2^53 and 2^53 + 1 aren't.
bool same_number(const encoding::Value& a, const encoding::Value& b);

namespace stored_forms {

/// For the test that compares them with the server's schemas.
struct Kind {
  std::string_view group, kind;
  friend auto operator<=>(const Kind&, const Kind&) = default;
};
struct Row {
  static constexpr bool kMap = true;
  std::string_view type, member, target;  // a type, or the name of a StoredForm
  bool map = false;                       // the member is a map from names to those
};
std::span<const Kind> kinds();
std::span<const Row> rows();

}  // namespace stored_forms

}  // namespace mist::apply
