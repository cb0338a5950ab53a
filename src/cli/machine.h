#pragma once
// Everything impure that a command may touch, as one argument. main/ builds the real one, tests a smaller one
// (testing/fake_machine.h). A Machine is used by one command on one thread; what it refers to says its own
// thread rule.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/context.h"
#include "base/event.h"
#include "base/fs.h"
#include "base/process.h"
#include "base/pulse.h"
#include "base/random.h"
#include "base/result.h"
#include "package/engine.h"
#include "package/type_store.h"

namespace mist::kube {
class Client;
}

namespace mist::cli {

/// Standard input. One thread.
class Input {
 public:
  virtual ~Input() = default;
  virtual bool is_terminal() const = 0;
  /// The next line without its newline; nullopt at the end. Errors: Cancelled, Timeout, Internal.
  virtual Result<std::optional<std::string>> read_line(const Context& context) = 0;
  /// The same, without showing on a terminal what is typed. `ask` writes the question once that holds: who is
  /// quick would be seen otherwise, and not be heard.
  virtual Result<std::optional<std::string>> read_hidden_line(const Context& context,
                                                              const std::function<void()>& ask) {
    ask();
    return read_line(context);
  }
  /// All that is left. Errors: as above, Invalid if it is more than `limit` bytes.
  virtual Result<std::string> read_all(std::uint64_t limit, const Context& context) = 0;
};

/// The progress at the bottom of a terminal, which it shares with results and questions. Any thread.
class Screen {
 public:
  virtual ~Screen() = default;
  /// Takes it away; nothing is drawn until as many calls of resume().
  virtual void suspend() = 0;
  virtual void resume() = 0;
};

/// Nothing is drawn while it lives. A null screen: nothing is drawn anyway.
class ScreenPause {
 public:
  explicit ScreenPause(Screen* screen) : screen_(screen) {
    if (screen_ != nullptr) screen_->suspend();
  }
  ScreenPause(const ScreenPause&) = delete;
  ScreenPause& operator=(const ScreenPause&) = delete;
  ~ScreenPause() {
    if (screen_ != nullptr) screen_->resume();
  }

 private:
  Screen* screen_;
};

/// Standard output or standard error. Failures are kept until `flush`, and told by each that follows, so that
/// printing needs no checks. Any thread; a write is never torn by another.
class Output {
 public:
  virtual ~Output() = default;
  virtual void write(std::string_view text) = 0;
  /// Errors: Retryable (no space), Internal. A reader that went away (EPIPE) is no error: the rest is
  /// dropped.
  virtual Status flush() = 0;
  /// Nothing more arrives: a write failed, or the reader went away. For what would print forever.
  virtual bool broken() = 0;
  /// Whole lines only, above what `screen` draws on the same terminal; null: nobody draws there.
  virtual void share(Screen* /*screen*/) {}
  virtual bool is_terminal() const = 0;
  virtual int columns() const = 0;  ///< of the terminal, now; 80 where nobody knows
  virtual int rows() const = 0;     ///< of the terminal, now; 24 where nobody knows
};

/// The identity of this program; constants of the build.
struct BuildInfo {
  std::string version;   ///< "0.1.0", SemVer
  std::string commit;    ///< of git, "-dirty" if the tree was changed; "unknown" outside a checkout
  std::string platform;  ///< "linux/amd64"
  std::string compiler;
  std::span<const package::EngineDigest> engines = {};
  std::span<const package::KubeTypesDigest> kube_types = {};
};

/// Which cluster, and which namespace in it, the user chose. Empty: not said.
struct ClusterChoice {
  std::string kubeconfig = {};
  std::string context = {};
  std::string ns = {};
};

struct Machine {
  BuildInfo build;
  Path program;  ///< absolute path of the running program

  Input& in;
  Output& out;  ///< results, and nothing else
  Output& err;  ///< progress, questions, errors

  FileSystem& files;
  ProcessRunner& processes;
  Clock& clock;
  Random& random;
  std::function<std::optional<std::string>(std::string_view name)> environment;
  Pulse* pulse = nullptr;    ///< null: who needs one has a thread of its own
  Context context = {};      ///< stops at Ctrl-C and SIGTERM
  SteadyTime began = {};     ///< when run() began, for "in 4.2s"
  bool input_taken = false;  ///< read_named_file() read all of `in`; run() begins with false

  /// Where progress goes; run() puts the sink that the flags ask for here before a handler starts. Never null
  /// in a handler.
  EventSink* events = nullptr;
  Screen* screen = nullptr;  ///< what progress draws; null: nothing
  bool json_events = false;  ///< a program reads `err`, each line as a JSON object; run() decides
  bool color_out = false;    ///< whether `out` may carry colors; run() decides
  bool color_err = false;

  /// A client of the chosen cluster. Sends nothing by itself.
  std::function<Result<std::unique_ptr<kube::Client>>(const ClusterChoice&, Machine&)> connect = {};
};

}  // namespace mist::cli
