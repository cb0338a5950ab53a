#include "blueprint/field_path.h"

#include <algorithm>
#include <charconv>
#include <span>

#include "base/text.h"

namespace mist::blueprint {
namespace {

Result<std::optional<Value>> read_from(const Value& at, std::span<const std::string> fields,
                                       const FieldPath& path) {
  if (at.is_null()) return std::optional<Value>();
  if (fields.empty()) return std::optional<Value>(at);
  const std::string& name = fields.front();
  if (at.is_object()) {
    const Value* next = at.find(name);
    return next == nullptr ? Result<std::optional<Value>>(std::optional<Value>())
                           : read_from(*next, fields.subspan(1), path);
  }
  if (!at.is_array())
    return error(ErrorKind::Invalid, "{} leads through {} {}, which has no field {}", path.text,
                 kind_name(at.kind()) == "integer" ? "an" : "a", kind_name(at.kind()), name);
  std::size_t index = 0;
  const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (wrong == std::errc() && end == name.data() + name.size())
    return index < at.size() ? read_from(at.as_array()[index], fields.subspan(1), path)
                             : Result<std::optional<Value>>(std::optional<Value>());
  Value::Array all;
  for (const Value& item : at.as_array()) {
    MIST_TRY(std::optional<Value> found, read_from(item, fields, path));
    if (found) all.push_back(*std::move(found));
  }
  return std::optional<Value>(Value(std::move(all)));
}

// "[0]", "[*]".
bool is_index(std::string_view text) {
  if (!text.starts_with('[') || !text.ends_with(']') || text.size() < 3) return false;
  const std::string_view index = text.substr(1, text.size() - 2);
  return index == "*" || std::ranges::all_of(index, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Result<FieldPath> FieldPath::parse(std::string_view text) {
  if (text == ".") return FieldPath{{}, "."};
  FieldPath path{{""}, std::string(text)};
  std::optional<std::size_t> bracket;  // in the present name
  const auto end_name = [&] {
    if (bracket && path.bracketed.empty() && is_index(std::string_view(path.fields.back()).substr(*bracket)))
      path.bracketed = path.fields.back();
    bracket.reset();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '.' || text[i + 1] == '[')) {
      path.fields.back() += text[++i];
    } else if (text[i] == '.') {
      end_name();
      path.fields.emplace_back();
    } else {
      if (text[i] == '[' && !bracket) bracket = path.fields.back().size();
      path.fields.back() += text[i];
    }
  }
  end_name();
  if (std::ranges::any_of(path.fields, &std::string::empty))
    return error(ErrorKind::Invalid, "\"{}\" is not the path of a field", escape_controls(text))
        .with_hint("names with a dot between them, as in spec.clusterIP");
  return path;
}

const Value* FieldPath::find(const Value& object) const {
  const Value* at = &object;
  for (const std::string& field : fields) {
    at = at->find(field);
    if (at == nullptr) return nullptr;
  }
  return at->is_null() ? nullptr : at;
}

Result<std::optional<Value>> FieldPath::read(const Value& object) const {
  return read_from(object, fields, *this);
}

}  // namespace mist::blueprint
