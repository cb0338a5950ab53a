#include "reconcile/list_selector.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace mist::reconcile {
namespace {

using encoding::Value;

constexpr std::size_t kMostLabelText = 63;

// As Kubernetes has them (IsValidLabelValue); the part of a key after its prefix is the same, and not empty.
bool is_label_value(std::string_view text) {
  const auto is_plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return text.empty() ||
         (text.size() <= kMostLabelText && is_plain(text.front()) && is_plain(text.back()) &&
          std::ranges::all_of(text, [&](char c) { return is_plain(c) || c == '-' || c == '_' || c == '.'; }));
}

Status check_key(std::string_view key) {
  const auto slash = key.find('/');
  const std::string_view name = slash == std::string_view::npos ? key : key.substr(slash + 1);
  const bool has_prefix = slash == std::string_view::npos || is_dns1123_subdomain(key.substr(0, slash));
  if (has_prefix && !name.empty() && is_label_value(name)) return {};
  return error(ErrorKind::Invalid, "its function gives \"{}\", which can't be the name of a label",
               escape_controls(key));
}

Status check_value(std::string_view key, const Value& value) {
  if (!value.is_string())
    return error(ErrorKind::Invalid, "its function gives the label {} a value that isn't a text", key);
  if (!is_label_value(value.as_string()))
    return error(ErrorKind::Invalid, "its function gives the label {} \"{}\", which can't be a label's value",
                 key, escape_controls(value.as_string()));
  return {};
}

// Null or absent: none.
const Value* given(const Value& in, std::string_view name) {
  const Value* const value = in.find(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Status add_labels(const Value& in, std::string_view name, std::vector<std::string>& requirements) {
  const Value* const labels = given(in, name);
  if (labels == nullptr) return {};
  if (!labels->is_object())
    return error(ErrorKind::Invalid, "its function gives {} that are no record of texts", name);
  for (const Value::Member& each : labels->as_object()) {
    MIST_TRY_VOID(check_key(each.key));
    MIST_TRY_VOID(check_value(each.key, each.value));
    requirements.push_back(fmt::format("{}={}", each.key, each.value.as_string()));
  }
  return {};
}

struct Operator {
  std::string_view name, format;
  bool takes_values;
};
constexpr std::array<Operator, 4> kOperators{{{"In", "{} in ({})", true},
                                              {"NotIn", "{} notin ({})", true},
                                              {"Exists", "{}", false},
                                              {"DoesNotExist", "!{}", false}}};

Status check_fields(const Value& record, const std::vector<std::string>& known, std::string_view what) {
  for (const Value::Member& each : record.as_object())
    if (std::ranges::find(known, each.key) == known.end())
      return error(ErrorKind::Invalid, "its function gives {} the field \"{}\", and it has only {}", what,
                   escape_controls(each.key), join(known, ", "));
  return {};
}

Result<std::string> expression(const Value& told) {
  if (!told.is_object())
    return error(ErrorKind::Invalid, "its function gives matchExpressions that are no list of records");
  MIST_TRY_VOID(check_fields(told, {"key", "operator", "values"}, "an item of matchExpressions"));
  const std::string_view key = told.string_at("key"), sign = told.string_at("operator");
  MIST_TRY_VOID(check_key(key));
  const auto* const of = std::ranges::find(kOperators, sign, &Operator::name);
  if (of == kOperators.end())
    return error(
        ErrorKind::Invalid,
        "its function gives the label {} the operator \"{}\", which is none of In, NotIn, Exists and "
        "DoesNotExist",
        key, escape_controls(sign));
  const Value* const values = given(told, "values");
  const bool has_values = values != nullptr && values->is_array() && !values->as_array().empty();
  if (values != nullptr && !values->is_array())
    return error(ErrorKind::Invalid, "its function gives the label {} values that are no list", key);
  if (has_values != of->takes_values)
    return error(ErrorKind::Invalid, "its function gives the label {} the operator {}, which takes {} values",
                 key, sign, of->takes_values ? "one or more" : "no");
  std::vector<std::string> texts;
  if (has_values)
    for (const Value& each : values->as_array()) {
      MIST_TRY_VOID(check_value(key, each));
      texts.push_back(each.as_string());
    }
  return of->takes_values ? fmt::format(fmt::runtime(of->format), key, join(texts, ","))
                          : fmt::format(fmt::runtime(of->format), key);
}

}  // namespace

Result<std::string> list_selector(const Value& made) {
  std::vector<std::string> requirements;
  MIST_TRY_VOID(add_labels(made, "labels", requirements));
  if (const Value* const selector = given(made, "selector")) {
    if (!selector->is_object())
      return error(ErrorKind::Invalid,
                   "its function gives a selector that is no record with matchLabels or matchExpressions");
    MIST_TRY_VOID(check_fields(*selector, {"matchLabels", "matchExpressions"}, "its selector"));
    MIST_TRY_VOID(add_labels(*selector, "matchLabels", requirements));
    if (const Value* const expressions = given(*selector, "matchExpressions")) {
      if (!expressions->is_array())
        return error(ErrorKind::Invalid, "its function gives matchExpressions that are no list of records");
      for (const Value& each : expressions->as_array()) {
        MIST_TRY(std::string requirement, expression(each));
        requirements.push_back(std::move(requirement));
      }
    }
  }
  return join(requirements, ",");
}

}  // namespace mist::reconcile
