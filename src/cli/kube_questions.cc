#include "cli/kube_questions.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "action/authoring/host_script.h"
#include "action/deploy/prepare.h"
#include "base/text.h"
#include "cli/output/prompt.h"
#include "cli/places.h"
#include "cli/release_flags.h"
#include "encoding/json.h"
#include "package/looked_up.h"

namespace mist::cli {
namespace {

using encoding::Value;
using package::AnswerType;
using package::Question;

constexpr int kMostTries = 3;

// Of an error: somebody was asked whether a script may run, and said no.
struct Declined {};

std::string as_text(const Value& value) {
  return value.is_string() ? value.as_string() : encoding::to_json(value);
}

std::string prompt_of(const Question& question) {
  std::string text = escape_controls(question.prompt);
  std::vector<std::string> choices;
  for (const Value& each : question.choices) choices.push_back(escape_controls(as_text(each)));
  if (question.type == AnswerType::Boolean) choices = {"yes", "no"};
  if (!choices.empty()) text += fmt::format(" ({})", join(choices, "/"));
  if (!question.default_answer.is_null()) {
    const bool boolean = question.default_answer.is_bool();
    text += fmt::format(" [{}]", boolean ? (question.default_answer.as_bool() ? "yes" : "no")
                                         : escape_controls(as_text(question.default_answer)));
  } else if (question.has_default) {
    text += " [keep the default]";
  }
  return text + " ";
}

// Nothing: it isn't of the type that was asked for, or none of the choices.
std::optional<Value> parse_answer(const Question& question, const std::string& text) {
  std::optional<Value> answer;
  const std::string word = lower_case(text);
  const auto number = encoding::parse_json(text);
  switch (question.type) {
    case AnswerType::Text:
      answer = Value(text);
      break;
    case AnswerType::Boolean:
      if (word == "y" || word == "yes" || word == "true") answer = Value(true);
      if (word == "n" || word == "no" || word == "false") answer = Value(false);
      break;
    case AnswerType::Integer:
      if (number.ok() && number->is_int()) answer = *number;
      break;
    case AnswerType::Number:
      if (number.ok() && (number->is_number())) answer = *number;
      break;
  }
  if (answer && !question.choices.empty() &&
      std::ranges::find(question.choices, *answer) == question.choices.end())
    return std::nullopt;
  return answer;
}

// {"tls": {"domain": "…"}} of tls.domain.
Value nested(std::string_view name, Value answer) {
  const std::vector<std::string_view> parts = split(name, '.');
  for (auto part = parts.rbegin(); part != parts.rend(); ++part)
    answer = Value::object({{*part, std::move(answer)}});
  return answer;
}

Answered answer_of(const Question& question, Value answer, bool keeps_default = false) {
  Answered answered;
  answered.keeps_default = keeps_default;
  if (question.secret && !keeps_default) package::hide_text(answered.hidden, as_text(answer));
  answered.value = {
      package::ValuesFlag::SetJson, encoding::to_json(nested(question.name, std::move(answer))), {}};
  return answered;
}

Status ask_for_consent(const Invocation& invocation, Machine& machine, const package::HostScript& script,
                       const crypto::Digest& digest) {
  const std::string flag = std::string(kAllowHostScriptsFlag.name);
  const std::string given = invocation.text(flag);
  if (given == digest.str()) return {};
  const std::string question = fmt::format("--{}={} allows exactly these bytes", flag, digest.str());
  if (given != kAllowHostScriptsFlag.implied)
    return error(ErrorKind::Forbidden, "the script that was allowed is another one: {} is {} now",
                 escape_controls(script.package), digest.str())
        .with_hint(fmt::format("read {}, then {}", package::kPreInstallScript, question));
  if (!can_ask(machine))
    return error(ErrorKind::Forbidden, "{} of {} would run on this machine, and nobody can be asked",
                 package::kPreInstallScript, escape_controls(script.package))
        .with_hint(fmt::format("read it, then {}", question));
  MIST_TRY_VOID(machine.out.flush());
  const ScreenPause pause(machine.screen);
  machine.err.write(fmt::format(
      "{} of {} needs the Python of this machine, because it uses {}:\n\n{}\n\nIt would run in bubblewrap: "
      "without network, and only manifests/ of a copy can be written. Its digest, and that of the files "
      "beside "
      "it, is {}.\nRun it? ",
      package::kPreInstallScript, escape_controls(script.package), escape_controls(script.needs),
      escape_controls(script.files.at(std::string(package::kPreInstallScript)), true), digest.str()));
  MIST_TRY(const std::optional<std::string> answer, machine.in.read_line(machine.context));
  const std::string word = lower_case(trim(answer.value_or("")));
  if (word == "y" || word == "yes") return {};
  return error(ErrorKind::Forbidden, "nothing was changed, because the answer was no")
      .with_detail(Declined{});
}

// Answers are merged as --set-json is, so --set and what comes after it goes over them.
Error hidden_answer(const std::string& name) {
  return error(ErrorKind::Invalid,
               "nothing was changed, because a value of the command line hides the answer to {}",
               escape_controls(name))
      .with_hint(fmt::format("leave {} out of the values, or give its value there", escape_controls(name)));
}

}  // namespace

Result<Answered> ask_question(Machine& machine, const package::Question& question) {
  MIST_TRY_VOID(machine.out.flush());
  const ScreenPause pause(machine.screen);
  for (int tries = 0; tries < kMostTries; ++tries) {
    const auto ask = [&] { machine.err.write(prompt_of(question)); };
    if (!question.secret) ask();
    MIST_TRY(const std::optional<std::string> line, question.secret
                                                        ? machine.in.read_hidden_line(machine.context, ask)
                                                        : machine.in.read_line(machine.context));
    if (question.secret) machine.err.write("\n");
    if (!line)
      return error(ErrorKind::Cancelled, "nothing was changed, because {} has no answer",
                   escape_controls(question.name));
    // Blanks count in a password.
    const std::string text(question.secret ? std::string_view(*line) : trim(*line));
    if (text.empty() && !question.default_answer.is_null())
      return answer_of(question, question.default_answer);
    if (text.empty() && question.has_default)
      return answer_of(question, Value::object({{package::kTakeDefault, Value(true)}}), true);
    std::optional<Value> answer;
    if (!text.empty()) answer = parse_answer(question, text);
    if (answer) return answer_of(question, *std::move(answer));
    machine.err.write("That doesn't fit.\n");
  }
  return error(ErrorKind::Invalid, "nothing was changed, because no answer to {} fits",
               escape_controls(question.name));
}

package::RunOnHost run_on_host(const Invocation& invocation, Machine& machine) {
  const std::string_view name = kAllowHostScriptsFlag.name;
  if (find_flag(invocation.command(), name) == nullptr || !invocation.has(name)) return nullptr;
  // A command may render more than once; the script runs once.
  auto known = std::make_shared<std::map<std::string, package::Files>>();
  return [&, known](const package::HostScript& script, const Context& context) -> Result<package::Files> {
    const std::string key = action::host_script_digest(script.files).str() + script.input;
    if (const auto found = known->find(key); found != known->end()) return found->second;
    MIST_TRY(const config::Paths paths, paths_of(machine));
    action::HostScripts scripts(machine.files, machine.processes, *machine.events,
                                paths.state / "host-scripts", paths.cache / "host-scripts");
    MIST_TRY(package::Files made, scripts.run(
                                      script,
                                      [&](const package::HostScript& wanted, const crypto::Digest& digest) {
                                        return ask_for_consent(invocation, machine, wanted, digest);
                                      },
                                      context));
    return known->emplace(key, std::move(made)).first->second;
  };
}

Result<std::map<std::string, SecretString>> answer_questions(
    const Invocation& invocation, Machine& machine, const Cluster& cluster, const release::ReleaseId& id,
    const kpm::Kube& kube, const action::DeployOptions& options, Values kind,
    std::vector<package::ValuesInput>& values) {
  constexpr std::size_t kMostQuestions = 100;
  std::map<std::string, SecretString> hidden;
  if (!machine.files.exists(kube.directory / package::kPreInstallScript) || !can_ask(machine)) return hidden;
  std::vector<package::ValuesInput> known = values;
  std::set<std::string> asked;
  while (asked.size() < kMostQuestions) {
    MIST_TRY(render::WantedRelease wanted,
             wanted_package(invocation, machine, cluster, id, kube.package.string(), known,
                            {.values = kind, .questions = Questions::Asked, .hidden = hidden}));
    const action::Intent intent = action::preview_intent(render_of(wanted, machine));
    const auto look = action::prepare(cluster.environment, id, intent, options, machine.context);
    if (look.ok()) return hidden;
    // The deployment would ask again.
    if (look.error().detail<Declined>() != nullptr) return look.error();
    const auto* const open = look.error().detail<package::Unanswered>();
    // The deployment reports any other error.
    if (open == nullptr) return hidden;
    if (!asked.insert(open->question.name).second) return hidden_answer(open->question.name);
    MIST_TRY(Answered answer, ask_question(machine, open->question));
    hidden.merge(answer.hidden);
    known.push_back(answer.value);
    if (!answer.keeps_default) values.push_back(answer.value);
  }
  return error(ErrorKind::Invalid, "the script of {} asks more than {} questions", kube.k3.name,
               kMostQuestions);
}

}  // namespace mist::cli
