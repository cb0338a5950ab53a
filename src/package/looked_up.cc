#include "package/looked_up.h"

#include "base/text.h"
#include "crypto/digest.h"
#include "encoding/json.h"

namespace mist::package {
namespace {

using encoding::Value;
using Values = std::map<std::string, SecretString>;

// A shorter line of a text says nothing: "", "}", "-----".
constexpr std::size_t kShortestLine = 12;

void add_secret(Values& values, const Value& secret) {
  const std::string of = fmt::format("{}/{}", secret.string_at({"metadata", "namespace"}),
                                     secret.string_at({"metadata", "name"}));
  for (const std::string_view part : {"data", "stringData"}) {
    const Value* const data = secret.find(part);
    if (data == nullptr || !data->is_object()) continue;
    for (const Value::Member& member : data->as_object()) {
      if (!member.value.is_string()) continue;
      std::string plain;
      if (part != "data" || !base64_decode(member.value.as_string(), plain)) plain = member.value.as_string();
      add_forms(values, fmt::format("{} {}", of, member.key), plain);
    }
  }
}

}  // namespace

void add_forms(Values& values, const std::string& name, const std::string& text) {
  if (text.empty()) return;
  std::string quoted = encoding::to_json(Value(text));
  quoted = quoted.substr(1, quoted.size() - 2);
  if (quoted != text) values.try_emplace(fmt::format("{}{}", name, kQuotedForm), std::move(quoted));
  if (text.find('\n') != std::string::npos) {
    std::size_t number = 0;
    for (const std::string_view line : split(text, '\n')) {
      ++number;
      // Every key and certificate begins and ends with these.
      if (trim(line).size() < kShortestLine || line.starts_with("-----")) continue;
      values.try_emplace(fmt::format("{} line {}", name, number), SecretString(std::string(trim(line))));
    }
  }
  values.try_emplace(name, text);
}

Values values_of_secrets(const Value& answer) {
  Values values;
  if (!answer.is_object() || answer.string_at("apiVersion") != "v1") return values;
  if (answer.string_at("kind") == "Secret") add_secret(values, answer);
  const Value* const items = answer.find("items");
  if (answer.string_at("kind") == "SecretList" && items != nullptr && items->is_array())
    for (const Value& item : items->as_array()) add_secret(values, item);
  return values;
}

Values looked_up_in_texts(Values values) {
  std::erase_if(values, [](const auto& each) { return each.second.reveal().size() < kShortestInText; });
  return values;
}

void hide_text(Values& hidden, const std::string& text) {
  Values forms;
  add_forms(forms, fmt::format("hidden {}", crypto::sha256(text).hex()), text);
  hidden.merge(looked_up_in_texts(std::move(forms)));
}

}  // namespace mist::package
