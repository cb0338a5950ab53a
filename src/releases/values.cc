#include "releases/values.h"

#include "base/text.h"
#include "encoding/json.h"
#include "encoding/yaml.h"

namespace mist::releases {
namespace {

// Nothing: it may be missing, and is.
Result<std::optional<std::string>> text_of(const Value& object, const ValuesFrom& from) {
  for (const std::string_view part : {"data", "binaryData"}) {
    const Value* const found = object.at_path({part, from.key});
    if (found == nullptr || !found->is_string()) continue;
    if (!from.secret && part == "data") return std::optional(found->as_string());
    std::string plain;
    if (base64_decode(found->as_string(), plain)) return std::optional(std::move(plain));
  }
  if (from.optional) return std::optional<std::string>();
  return error(ErrorKind::NotFound, "the {} {} has no key {}", from.secret ? "Secret" : "ConfigMap",
               from.name, escape_controls(from.key));
}

// Each value of a document is hidden by itself: a message may quote it without the rest.
void add_leaves(const Value& value, const std::string& path, std::map<std::string, SecretString>& leaves) {
  if (value.is_object()) {
    for (const Value::Member& member : value.as_object())
      add_leaves(member.value, path + "." + member.key, leaves);
  } else if (value.is_array()) {
    std::size_t index = 0;
    for (const Value& each : value.as_array()) add_leaves(each, fmt::format("{}[{}]", path, index++), leaves);
  } else if (value.is_string()) {
    leaves.try_emplace(path, value.as_string());
  } else if (value.is_number()) {
    leaves.try_emplace(path, encoding::to_json(value));
  }
}

void hide(Gathered& gathered, const ValuesFrom& from, const std::string& text) {
  std::map<std::string, SecretString> secrets;
  if (const auto document = encoding::parse_yaml(text); document.ok() && from.target_path.empty())
    add_leaves(*document, from.display(), secrets);
  // A document's own words (`password:`) are no secret; a text that is none is one as a whole.
  if (secrets.empty()) gathered.mask.add(text);
  for (const auto& [name, value] : secrets) gathered.mask.add(value.reveal());
  secrets.try_emplace(from.display(), text);
  gathered.hidden.add(secrets);
}

package::ValuesInput at_path(const ValuesFrom& from, const std::string& text) {
  return {.flag = package::ValuesFlag::SetLiteral,
          .text = fmt::format("{}={}", from.target_path, text),
          .content = {}};
}

}  // namespace

Result<Gathered> gather_values(kube::Client& client, const std::string& ns, const Spec& spec,
                               const Context& context) {
  Gathered gathered;
  std::vector<package::ValuesInput> single;
  for (const ValuesFrom& from : spec.values_from) {
    const kube::ResourceInfo resource{
        {"", "v1", from.secret ? "Secret" : "ConfigMap"}, from.secret ? "secrets" : "configmaps", true, {}};
    auto object = client.get({resource, ns, from.name}, context);
    if (!object.ok() && object.error().kind == ErrorKind::NotFound && from.optional) {
      gathered.versions += "-,";
      continue;
    }
    MIST_TRY(const Value read, std::move(object));
    gathered.versions += fmt::format("{},", read.string_at({"metadata", "resourceVersion"}));
    MIST_TRY(const std::optional<std::string> text, text_of(read, from));
    if (!text) continue;
    if (from.secret) hide(gathered, from, *text);
    if (from.target_path.empty())
      gathered.inputs.push_back(
          {.flag = package::ValuesFlag::File, .text = from.display(), .content = *text});
    else
      single.push_back(at_path(from, *text));
  }
  gathered.mask.prepare();
  if (!spec.values.empty())
    gathered.inputs.push_back({.flag = package::ValuesFlag::File,
                               .text = "spec.values",
                               .content = encoding::to_json(spec.values, encoding::JsonStyle::Exact)});
  gathered.inputs.insert(gathered.inputs.end(), single.begin(), single.end());
  return gathered;
}

}  // namespace mist::releases
