#include "package/pre_install.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "encoding/json.h"

namespace mist::package {
namespace {

using encoding::Value;

constexpr std::string_view kKube = "K3.yaml";
constexpr std::string_view kManifests = "manifests/";
// The script makes manifests of these; the engine of templates would take them for manifests.
constexpr std::string_view kTemplates = "templates/";
constexpr std::size_t kMostChoices = 1000;

struct TypeName {
  std::string_view name;
  AnswerType type;
};
constexpr std::array kTypes{TypeName{"text", AnswerType::Text}, TypeName{"integer", AnswerType::Integer},
                            TypeName{"number", AnswerType::Number}, TypeName{"boolean", AnswerType::Boolean}};

std::optional<Question> question_of(const Value& value) {
  const auto type = std::ranges::find(kTypes, value.string_at("type"), &TypeName::name);
  if (type == kTypes.end() || value.string_at("name").empty()) return std::nullopt;
  Question question{.name = std::string(value.string_at("name")),
                    .prompt = std::string(value.string_at("prompt")),
                    .type = type->type};
  if (const Value* const given = value.find("default")) question.default_answer = *given;
  question.has_default = !question.default_answer.is_null() || value.is_true_at("hasDefault");
  if (const Value* const choices = value.find("choices"); choices != nullptr && choices->is_array())
    for (const Value& each : choices->as_array())
      if (question.choices.size() < kMostChoices) question.choices.push_back(each);
  question.secret = value.is_true_at("secret");
  return question;
}

std::string type_words(const Question& question) {
  if (!question.choices.empty()) {
    std::vector<std::string> words;
    for (const Value& each : question.choices)
      words.push_back(each.is_string() ? each.as_string() : encoding::to_json(each));
    return fmt::format("one of {}", join(words, ", "));
  }
  switch (question.type) {
    case AnswerType::Text:
      return "a text";
    case AnswerType::Integer:
      return "an integer";
    case AnswerType::Number:
      return "a number";
    case AnswerType::Boolean:
      return "true or false";
  }
  return {};
}

bool serves_the_script(std::string_view path) {
  return path == kPreInstallScript || path.starts_with(kTemplates);
}

}  // namespace

bool has_pre_install(const Files& files) {
  return files.contains(std::string(kKube)) && files.contains(std::string(kPreInstallScript));
}

const Value* answer_at(const Value& values, std::string_view name) {
  const Value* found = &values;
  for (const std::string_view part : split(name, '.')) {
    if (found == nullptr || !found->is_object()) return nullptr;
    found = found->find(part);
  }
  return found;
}

Value without_taken_defaults(Value values) {
  if (!values.is_object()) return values;
  std::erase_if(values.as_object(), [](Value::Member& member) {
    if (!member.value.is_object() || member.value.empty()) return false;
    if (member.value == Value::object({{kTakeDefault, true}})) return true;
    member.value = without_taken_defaults(std::move(member.value));
    return member.value.empty();
  });
  return values;
}

std::map<std::string, SecretString> secret_answers(const std::vector<Answer>& answers, const Value& values) {
  std::map<std::string, SecretString> secrets;
  for (const Answer& each : answers) {
    const Value* const value = each.secret ? answer_at(values, each.name) : nullptr;
    if (value == nullptr || value->is_null()) continue;
    secrets.emplace(fmt::format("the answer to {}", each.name),
                    SecretString(value->is_string() ? value->as_string() : encoding::to_json(*value)));
  }
  return secrets;
}

Result<ScriptResult> script_result(const Files& files, const Value& exports) {
  if (!exports.is_object())
    return error(ErrorKind::Internal, "the Python engine gave no account of {}", kPreInstallScript);
  ScriptResult result{.removed = exports.texts_at("removed")};
  for (const auto& [path, text] : files)
    if (path.starts_with(kManifests)) result.written.emplace(path, text);
  const std::vector<std::string> secret = exports.texts_at("secretAnswers");
  for (const std::string& name : exports.texts_at("answered"))
    result.answers.push_back({name, std::ranges::find(secret, name) != secret.end()});
  if (const Value* const asked = exports.find("question")) result.question = question_of(*asked);
  result.needs_host = exports.string_at("needsHost");
  if (const Value* const place = exports.find("where"); place != nullptr && place->is_object()) {
    const Value* const line = place->find("line");
    const bool good = line != nullptr && line->is_int() && line->as_int() > 0 && line->as_int() < 1'000'000;
    result.where = SourceLocation{.file = std::string(place->string_at("file")),
                                  .line = good ? static_cast<std::uint32_t>(line->as_int()) : 0,
                                  .excerpt = std::string(place->string_at("text"))};
  }
  return result;
}

Files after_script(const Files& files, const ScriptResult& result) {
  Files after = files;
  std::erase_if(after, [](const auto& file) { return serves_the_script(file.first); });
  for (const std::string& path : result.removed)
    if (path.starts_with(kManifests)) after.erase(path);
  for (const auto& [path, text] : result.written) after.insert_or_assign(path, text);
  return after;
}

Files with_manifests(const Files& files, const Files& manifests) {
  Files after;
  for (const auto& [path, text] : files)
    if (!path.starts_with(kManifests) && !serves_the_script(path)) after.emplace(path, text);
  for (const auto& [path, text] : manifests)
    if (path.starts_with(kManifests)) after.insert_or_assign(path, text);
  return after;
}

Error unanswered(Question question, std::string_view reference) {
  Error failure = error(ErrorKind::Invalid, "{} asks for {}, and nobody answered", reference,
                        escape_controls(question.name));
  failure.because =
      fmt::format("{} ({})", escape_controls(question.prompt), escape_controls(type_words(question)));
  failure.hint =
      question.secret
          ? fmt::format("answer it in a file: -f FILE with {}: …", escape_controls(question.name))
          : fmt::format("answer it with --set {}=…, or in a file with -f", escape_controls(question.name));
  failure.details.set(Unanswered{std::move(question)});
  return failure;
}

Error needs_host_python(const ScriptResult& result, std::string_view reference) {
  Error failure =
      error(ErrorKind::Invalid, "{} of {} needs the Python of this machine", kPreInstallScript, reference);
  failure.where = result.where;
  failure.because = fmt::format("it uses {}, and in the sandbox there are no processes and no network",
                                escape_controls(result.needs_host));
  failure.hint =
      "install and upgrade run it here with --allow-host-scripts, in bubblewrap, once you have seen and "
      "allowed exactly this script; "
      "a script that only imports kpm needs no permission";
  failure.details.set(NeedsHostPython{result.needs_host});
  return failure;
}

}  // namespace mist::package
