#include "cli/argocd_request.h"

#include <algorithm>
#include <ranges>

#include "base/text.h"
#include "encoding/json.h"
#include "encoding/set_path.h"

namespace mist::cli {
namespace {

using encoding::Value;
using package::ValuesFlag;
using package::ValuesInput;

constexpr std::string_view kParameters = "ARGOCD_APP_PARAMETERS";
constexpr std::size_t kLongestShown = 100;

std::string shown(std::string_view text) { return escape_controls(text.substr(0, kLongestShown)); }

// Of the member string, array or map.
Result<ArgoTexts> texts_of(const Value::Member& member, std::string_view parameter) {
  const auto wrong = [&] {
    return error(ErrorKind::Invalid, "the {} of the parameter \"{}\" is not {}", member.key, shown(parameter),
                 member.key == "string"  ? "a text"
                 : member.key == "array" ? "a list of texts"
                                         : "a map of texts")
        .with_hint("put each value in quotes: \"3\"");
  };
  if (member.key == "string") {
    if (!member.value.is_string()) return wrong();
    return ArgoTexts(member.value.as_string());
  }
  if (member.key == "array") {
    std::vector<std::string> texts;
    if (!member.value.is_array()) return wrong();
    for (const Value& each : member.value.as_array()) {
      if (!each.is_string()) return wrong();
      texts.push_back(each.as_string());
    }
    return ArgoTexts(std::move(texts));
  }
  std::map<std::string, std::string> texts;
  if (!member.value.is_object()) return wrong();
  for (const Value::Member& each : member.value.as_object()) {
    if (!each.value.is_string()) return wrong();
    texts[each.key] = each.value.as_string();
  }
  return ArgoTexts(std::move(texts));
}

// By name, of the document that Argo CD writes.
Result<std::map<std::string, ArgoTexts>> parameters_of(const std::string& text) {
  std::map<std::string, ArgoTexts> parameters;
  MIST_TRY(const Value document,
           encoding::parse_json(text, {.strict = true, .file = std::string(kParameters)})
               .in("while reading the Application's parameters"));
  if (document.is_null()) return parameters;
  if (!document.is_array())
    return error(ErrorKind::Invalid, "{} is not a list of parameters", kParameters)
        .with_hint("Argo CD writes it from spec.source.plugin.parameters of the Application");
  for (const Value& each : document.as_array()) {
    const std::string name(each.string_at("name"));
    if (name.empty()) return error(ErrorKind::Invalid, "a parameter in {} has no name", kParameters);
    std::optional<ArgoTexts> texts;
    for (const Value::Member& member : each.as_object()) {
      if (member.key != "string" && member.key != "array" && member.key != "map") continue;
      if (member.value.is_null()) continue;
      if (texts)
        return error(ErrorKind::Invalid, "the parameter \"{}\" has more than one of string, array and map",
                     shown(name));
      MIST_TRY(texts, texts_of(member, name));
    }
    if (!texts)
      return error(ErrorKind::Invalid, "the parameter \"{}\" has no string, array or map", shown(name));
    if (!parameters.emplace(name, *std::move(texts)).second)
      return error(ErrorKind::Invalid, "the parameter \"{}\" is given twice", shown(name));
  }
  return parameters;
}

// Takes one of the plugin's own parameters out.
template <typename Form>
Status take(std::map<std::string, ArgoTexts>& parameters, std::string_view name, std::string_view form,
            Form& out) {
  auto node = parameters.extract(std::string(name));
  if (node.empty()) return {};
  if (!std::holds_alternative<Form>(node.mapped()))
    return error(ErrorKind::Invalid, "the parameter \"{}\" is not of the form {}", name, form)
        .with_hint(fmt::format("write it as `{}:` in spec.source.plugin.parameters", form));
  out = std::get<Form>(std::move(node.mapped()));
  return {};
}

// The path that --set would have, whatever spaces and commas are in it.
Result<std::string> canonical(std::string_view name) {
  if (std::ranges::any_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
    return error(ErrorKind::Invalid, "\"{}\" is not the path of a value: it has control characters",
                 shown(name));
  const Result<std::vector<encoding::PathStep>> path = encoding::parse_set_path(name);
  if (!path.ok()) {
    Error failure = path.error();
    failure.where.reset();  // a column of no file
    return std::move(failure).with_frame(fmt::format("while reading the parameter \"{}\"", shown(name)));
  }
  // to_string() doesn't know --set's YAML form, which "a: b" or "{" would begin.
  std::string text;
  for (const char c : encoding::to_string(*path)) {
    if (c == ' ' || c == '{' || c == '}') text += '\\';
    text += c;
  }
  return text;
}

// A value as --set reads it back, without lists in it.
std::string literal(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == ',' || c == '{' || c == '}') out += '\\';
    out += c;
  }
  return out;
}

// Numbers and booleans are what they look like, so that a wrong one meets the schema as the text that it is.
ValuesFlag flag_of(ArgoItem item) { return item == ArgoItem::Text ? ValuesFlag::SetString : ValuesFlag::Set; }

ValuesInput assigned(const std::string& path, std::string_view text, ArgoItem item) {
  // --set knows whole numbers only.
  if (item == ArgoItem::Number) {
    const Result<Value> number = encoding::parse_json(text);
    if (number.ok() && number->is_number() && !number->is_int())
      return {ValuesFlag::SetJson, fmt::format("{}={}", path, encoding::to_json(*number)), {}};
  }
  return {flag_of(item), fmt::format("{}={}", path, literal(text)), {}};
}

ValuesInput assigned_list(const std::string& path, const std::vector<std::string>& texts, ArgoItem item) {
  // An empty text in {…} means something else to Helm.
  const bool as_json = item == ArgoItem::Text || std::ranges::any_of(texts, &std::string::empty);
  if (as_json || texts.empty())
    return {ValuesFlag::SetJson,
            fmt::format("{}={}", path, encoding::to_json(Value(Value::Array(texts.begin(), texts.end())))),
            {}};
  std::vector<std::string> items;
  std::ranges::transform(texts, std::back_inserter(items), literal);
  return {ValuesFlag::Set, fmt::format("{}={{{}}}", path, join(items, ",")), {}};
}

}  // namespace

std::string argo_variable(const Environment& environment, std::string_view name) {
  return environment(name).value_or(std::string());
}

Result<ArgoRequest> ArgoRequest::read(const Environment& environment) {
  ArgoRequest request;
  request.package = argo_variable(environment, "ARGOCD_ENV_PACKAGE");
  const std::string value_lines = argo_variable(environment, "ARGOCD_ENV_VALUES");
  for (const std::string_view line : split(value_lines, '\n'))
    for (const std::string_view each : split(line, ','))
      if (const std::string_view path = trim(each); !path.empty()) request.values.emplace_back(path);
  const std::string set_lines = argo_variable(environment, "ARGOCD_ENV_SET");
  for (const std::string_view line : split(set_lines, '\n')) {
    if (trim(line).empty()) continue;
    const auto equals = line.find('=');
    if (equals == std::string_view::npos)
      return error(ErrorKind::Invalid, "ARGOCD_ENV_SET has a line without \"=\": \"{}\"", shown(line))
          .with_hint("write one KEY=VALUE in each line");
    MIST_TRY(const std::string path, canonical(trim(line.substr(0, equals))));
    request.set[path] = line.substr(equals + 1);
  }
  const std::string text = argo_variable(environment, kParameters);
  request.names_plugin = !text.empty();
  if (text.empty()) return request;
  MIST_TRY(request.inputs, parameters_of(text));
  MIST_TRY_VOID(take(request.inputs, kArgoPackage, "string", request.package));
  std::vector<std::string> files;
  MIST_TRY_VOID(take(request.inputs, kArgoValues, "array", files));
  std::ranges::move(files, std::back_inserter(request.values));
  std::map<std::string, std::string> set;
  MIST_TRY_VOID(take(request.inputs, kArgoSet, "map", set));
  for (auto& [key, value] : set) {
    MIST_TRY(const std::string path, canonical(key));
    request.set[path] = std::move(value);
  }
  return request;
}

Result<std::vector<ValuesInput>> argo_values(const ArgoRequest& request, std::span<const ArgoInput> known) {
  std::vector<ValuesInput> inputs;
  for (const auto& [path, text] : request.set) inputs.push_back(assigned(path, text, ArgoItem::Any));
  std::map<std::string, std::string> seen;
  for (const auto& [name, texts] : request.inputs) {
    MIST_TRY(const std::string path, canonical(name));
    const auto [other, is_new] = seen.emplace(path, name);
    if (!is_new)
      return error(ErrorKind::Invalid, "the parameters \"{}\" and \"{}\" set the same value",
                   shown(other->second), shown(name));
    if (request.set.contains(path))
      return error(ErrorKind::Invalid, "the parameter \"{}\" and an entry of \"{}\" set the same value",
                   shown(name), kArgoSet)
          .with_hint("leave one of them out");
    const auto input = std::ranges::find(known, name, &ArgoInput::name);
    const ArgoItem item = input == known.end() ? ArgoItem::Any : input->item;
    if (const auto* const one = std::get_if<std::string>(&texts)) {
      inputs.push_back(assigned(path, *one, item));
    } else if (const auto* const list = std::get_if<std::vector<std::string>>(&texts)) {
      inputs.push_back(assigned_list(path, *list, item));
    } else {
      for (const auto& [key, text] : std::get<std::map<std::string, std::string>>(texts)) {
        const encoding::PathStep step(key);
        MIST_TRY(const std::string own, canonical(encoding::to_string(std::span(&step, 1))));
        inputs.push_back(assigned(fmt::format("{}.{}", path, own), text, item));
      }
    }
  }
  return inputs;
}

std::string argo_release_name(std::string application) {
  std::ranges::replace_if(application, [](char c) { return c == '.' || c == '_'; }, '-');
  return application;
}

Path argo_repository(const Path& directory, const Path& source_path) {
  Path root = directory.lexically_normal();
  if (!root.has_filename()) root = root.parent_path();
  Path below = source_path.lexically_normal();
  if (!below.has_filename()) below = below.parent_path();
  if (below.empty() || below == "." || below.is_absolute()) return root;
  const Path whole = root;
  const std::vector<Path> parts(below.begin(), below.end());
  for (const Path& part : std::views::reverse(parts)) {
    if (part == ".." || root.filename() != part) return whole;
    root = root.parent_path();
  }
  return root;
}

bool argo_allows(std::string_view prefix, std::string_view reference) {
  if (prefix == "*") return true;
  // A registry or a proxy may make "a/../b" into "b".
  const bool leaves = reference.contains('%') || reference.contains('\\') ||
                      std::ranges::any_of(split(reference, '/'),
                                          [](std::string_view part) { return part == "." || part == ".."; });
  if (leaves || prefix.empty() || !reference.starts_with(prefix)) return false;
  if (reference.size() == prefix.size() || prefix.ends_with('/')) return true;
  const char next = reference[prefix.size()];
  if (next == '/') return true;
  // Behind a host, ":" begins a port and "@" another host. The prefix need not be a whole URL.
  const auto scheme = prefix.find("://");
  const std::string_view path = scheme == std::string_view::npos ? prefix : prefix.substr(scheme + 3);
  return path.contains('/') && (next == ':' || next == '@');
}

}  // namespace mist::cli
