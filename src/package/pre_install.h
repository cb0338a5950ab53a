#pragma once
// The script of a Kube, scripts/pre-install.py, which the Python engine runs before the Kube's templates are
// rendered: it asks questions, makes certificates and writes manifests (engines/python/lib/kpm.py). Files
// that it writes to manifests/ become part of the package for that render. Pure; any thread.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/result.h"
#include "base/secret.h"
#include "encoding/value.h"
#include "package/engine.h"

namespace mist::package {

inline constexpr std::string_view kPreInstallScript = "scripts/pre-install.py";
/// The engine that runs it, and packages with a main.py.
inline constexpr std::string_view kPythonEngine = "python";
/// Its option, the path of a script.
inline constexpr std::string_view kScriptOption = "script";

enum class AnswerType : std::uint8_t { Text, Integer, Number, Boolean };

/// A question of a script to its user; the value of that name is the answer.
struct Question {
  std::string name = {};  ///< "domain", "tls.domain"
  std::string prompt = {};
  AnswerType type = AnswerType::Text;
  encoding::Value default_answer = {};        ///< null: there is none, or nobody may see it
  bool has_default = false;                   ///< also of a secret, whose default stays the script's own
  std::vector<encoding::Value> choices = {};  ///< empty: anything of the type
  bool secret = false;                        ///< what is typed isn't shown
};

/// {this: true} as the value of a question's name, where a person is asked: they took the script's default.
inline constexpr std::string_view kTakeDefault = "kpm.take-default";
/// The values of the install, which have nothing there: without such members, and objects that are empty
/// without them.
encoding::Value without_taken_defaults(encoding::Value values);

/// Of an error: nobody answered yet.
struct Unanswered {
  Question question;
};

/// The answer that a script got to a question.
struct Answer {
  std::string name;
  bool secret = false;
  friend auto operator<=>(const Answer&, const Answer&) = default;
};

/// The value that answers the question of that name: `a.b` is b within a. Null: it isn't there.
const encoding::Value* answer_at(const encoding::Value& values, std::string_view name);
/// The secret ones among `values`, as texts, by "the answer to NAME": nobody prints them, wherever they get
/// to.
std::map<std::string, SecretString> secret_answers(const std::vector<Answer>& answers,
                                                   const encoding::Value& values);

/// A script that the sandbox can't run.
struct HostScript {
  std::string package;  ///< reference, for people
  std::string needs;    ///< "subprocess", "os.system"
  const Files& files;   ///< of the whole package
  std::string input;    ///< for its standard input: {"values": {…}, "release": {…}}
};
/// Of an error: the sandbox can't run the script, and nobody allowed it outside.
struct NeedsHostPython {
  std::string needs;
};
/// Runs it outside of the sandbox and gives what manifests/ holds afterwards.
using RunOnHost = std::function<Result<Files>(const HostScript&, const Context&)>;

/// The result of a script.
struct ScriptResult {
  Files written = {};                     ///< by path, all below manifests/
  std::vector<std::string> removed = {};  ///< paths
  std::vector<Answer> answers = {};       ///< that the values gave
  std::optional<Question> question = {};  ///< it ended at this one
  std::string needs_host = {};  ///< it ended at what the sandbox lacks: "subprocess"; empty: it didn't
  std::optional<SourceLocation> where = {};  ///< of needs_host
};

/// A Kube with a script.
bool has_pre_install(const Files& files);

/// The engine's answer: its files, and its exports. Invalid: it answered something else.
Result<ScriptResult> script_result(const Files& files, const encoding::Value& exports);

/// The package as its script left it, without the script and its templates/.
Files after_script(const Files& files, const ScriptResult& result);
/// The same where a script that ran on the host gave all of manifests/.
Files with_manifests(const Files& files, const Files& manifests);

/// Invalid, with the question as its detail.
Error unanswered(Question question, std::string_view reference);
/// Invalid, with NeedsHostPython as its detail.
Error needs_host_python(const ScriptResult& result, std::string_view reference);

}  // namespace mist::package
