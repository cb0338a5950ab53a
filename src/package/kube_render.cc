#include "package/kube_render.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/secret.h"
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

// The script may have passed its secrets to the templates, which print none of them.
void hide_from_templates(RenderRequest& request, const std::map<std::string, SecretString>& answers,
                         const Rendered& of_script) {
  for (const auto& [name, value] : answers) hide_text(request.hidden, value.reveal());
  for (const auto& got : {of_script.secrets, looked_up_in_texts(of_script.looked_up)})
    for (const auto& [name, value] : got) request.hidden.emplace(fmt::format("the script's {}", name), value);
}

// The host's answers to the script are part of the render, as those to the templates are.
void add_run_of_script(Rendered& rendered, Rendered of_script) {
  rendered.secrets.merge(of_script.secrets);
  rendered.looked_up.merge(of_script.looked_up);
  rendered.asked.insert(rendered.asked.begin(), of_script.asked.begin(), of_script.asked.end());
  rendered.drawn += of_script.drawn;
  // Templates call no package.
  if (rendered.calls == nullptr) rendered.calls = std::move(of_script.calls);
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
  RenderRequest wanted = request;
  // The templates see the values that they will see in the end.
  if (request.interactive) wanted.user_values = without_taken_defaults(std::move(wanted.user_values));
  Source made = tree.source;
  if (result.needs_host.empty()) {
    made.content = after_script(tree.files, result);
  } else {
    if (!request.run_on_host) return needs_host_python(result, tree.source.reference);
    MIST_TRY(const Files manifests,
             request.run_on_host({tree.source.reference, result.needs_host, tree.files, host_input(wanted)},
                                 context));
    made.content = with_manifests(tree.files, manifests);
  }
  const Files& files = std::get<Files>(made.content);
  made.digest = files_digest(files).str();
  const SourceTree rest{made, files, tree.declared, tree.engine};
  const std::map<std::string, SecretString> answers = secret_answers(result.answers, wanted.user_values);
  hide_from_templates(wanted, answers, ran);
  Result<Rendered> of_templates = engines.render(rest, metadata, wanted, context);
  // Its excerpt is of a file that the script may have written.
  if (!of_templates.ok()) return without_secrets(std::move(of_templates).error(), wanted.hidden);
  Rendered rendered = *std::move(of_templates);
  add_run_of_script(rendered, std::move(ran));
  rendered.looked_up.insert(answers.begin(), answers.end());
  rendered.answers = std::move(result.answers);
  return rendered;
}

}  // namespace mist::package
