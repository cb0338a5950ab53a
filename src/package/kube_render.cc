#include "package/kube_render.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/secret.h"
#include "base/text.h"
#include "crypto/digest.h"
#include "encoding/json.h"
#include "package/calls.h"
#include "package/looked_up.h"
#include "package/module_section.h"

namespace mist::package {
namespace {

// Of Kubes.
constexpr std::string_view kTemplateEngine = "jinja";

// Of the files that a script left: what a render of them is cached under.
crypto::Digest files_digest(const Files& files) {
  crypto::Hasher hasher;
  for (const auto& [path, content] : files) hasher.field(path).field(content);
  return hasher.finish();
}

// `a.b` is b within a; null: it isn't there.
const Value* answer_at(const Value& values, std::string_view name) {
  const Value* found = &values;
  for (const std::string_view part : split(name, '.')) {
    if (found == nullptr || !found->is_object()) return nullptr;
    found = found->find(part);
  }
  return found;
}

// Secret answers aren't printed wherever they get to.
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

// Secrets that the script may have passed to the templates, which print none of them.
std::map<std::string, SecretString> hidden_of_script(const std::map<std::string, SecretString>& answers,
                                                     const std::map<std::string, SecretString>& drawn) {
  std::map<std::string, SecretString> forms;
  for (const auto& [name, value] : answers) add_forms(forms, name, value.reveal());
  forms = looked_up_in_texts(std::move(forms));
  for (const auto& [name, value] : drawn) forms.emplace(fmt::format("the script's {}", name), value);
  return forms;
}

// The input of a script on the host.
std::string host_input(const RenderRequest& request) {
  return encoding::to_json(Value::object(
      {{"values", request.user_values},
       {"release",
        Value::object({{"name", install_name(request)}, {"namespace", request.release_namespace}})}}));
}

}  // namespace

bool runs_a_script(const SourceTree& tree) {
  return tree.engine != nullptr && tree.engine->name == kTemplateEngine && has_pre_install(tree.files);
}

Result<bool> runs_a_script(const Source& source) {
  if (const auto* const files = std::get_if<Files>(&source.content)) return has_pre_install(*files);
  const auto& module = std::get<wasm::ModuleBytes>(source.content);
  MIST_TRY(const std::optional<BuiltModule> built, built_from(source, module));
  if (!built || !built->names_engine() || built->engine.name != kTemplateEngine) return false;
  MIST_TRY(const auto bytes, module.bytes());
  MIST_TRY(const Files files, files_of_module(*bytes, source.reference));
  return has_pre_install(files);
}

RenderRequest for_script(const RenderRequest& request) {
  RenderRequest wanted = request;
  wanted.engine_options =
      Value::object({{kScriptOption, kPreInstallScript}, {"interactive", request.interactive}});
  return wanted;
}

Result<ScriptRun> run_script(EngineRenderer& engines, const SourceTree& tree, const Metadata& metadata,
                             const RenderRequest& request, const Context& context) {
  const SourceTree script{tree.source, tree.files, std::nullopt, find_engine(kPythonEngine)};
  const RenderRequest wanted = for_script(request);
  // Unknown members of its metadata are reported once, with the templates.
  Metadata known = metadata;
  known.ignored.clear();
  // Its exports are its results.
  known.exports = Value();
  ScriptRun ran;
  MIST_TRY(ran.rendered, engines.render(script, std::move(known), wanted, context, nullptr));
  MIST_TRY(ran.result, script_result(ran.rendered.files, ran.rendered.exports));
  if (ran.result.question) return unanswered(*std::move(ran.result.question), tree.source.reference);
  return ran;
}

Result<Rendered> render_kube(EngineRenderer& engines, const SourceTree& tree, const Metadata& metadata,
                             const RenderRequest& request, const Context& context) {
  MIST_TRY(ScriptRun both, run_script(engines, tree, metadata, request, context));
  auto& [ran, result] = both;
  Source made = tree.source;
  if (result.needs_host.empty()) {
    made.content = after_script(tree.files, result);
  } else {
    if (!request.run_on_host) return needs_host_python(result, tree.source.reference);
    MIST_TRY(const Files manifests,
             request.run_on_host({tree.source.reference, result.needs_host, tree.files, host_input(request)},
                                 context));
    made.content = with_manifests(tree.files, manifests);
  }
  const Files& files = std::get<Files>(made.content);
  made.digest = files_digest(files).str();
  const SourceTree rest{made, files, tree.declared, tree.engine};
  const std::map<std::string, SecretString> answers = secret_answers(result.answers, request.user_values);
  RenderRequest wanted = request;
  wanted.hidden = hidden_of_script(answers, ran.secrets);
  Result<Rendered> of_templates = engines.render(rest, metadata, wanted, context);
  // Its excerpt is of a file that the script may have written.
  if (!of_templates.ok()) return without_secrets(std::move(of_templates).error(), wanted.hidden);
  Rendered rendered = *std::move(of_templates);
  rendered.secrets.merge(ran.secrets);
  rendered.asked.insert(rendered.asked.begin(), ran.asked.begin(), ran.asked.end());
  rendered.drawn += ran.drawn;
  rendered.looked_up.insert(answers.begin(), answers.end());
  rendered.answers = std::move(result.answers);
  return rendered;
}

}  // namespace mist::package
