// mistletoe-operator: connects to a cluster and runs the Controller until it is told to stop.

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/process.h"
#include "base/random.h"
#include "base/text.h"
#include "build_info.h"
#include "config/paths.h"
#include "engine_digests.h"
#include "kube/connect.h"
#include "main/interrupt.h"
#include "operator/controller.h"
#include "wasm/compiler.h"

namespace {

using mist::Result;

constexpr std::string_view kUsage = R"(usage: mistletoe-operator [flags]

Keeps the objects of blueprints as they are wanted. docs/operator.md explains blueprints.

  --kubeconfig FILE   the cluster; without it KUBECONFIG, ~/.kube/config, or the Pod's service account
  --context NAME      of the kubeconfig; its current one
  -n, --namespace NS  where the ConfigMaps with blueprints are; the context's
  -v, --verbose       say more
  --version           print the version
  -h, --help          print this
)";

std::optional<std::string> environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

void print(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// A line for each message on standard error.
class Log final : public mist::EventSink {
 public:
  Log(mist::Clock& clock, bool verbose) : clock_(clock), verbose_(verbose) {}
  void message(const mist::Message& event) override {
    if (!shows(event.level)) return;
    const std::string_view level = event.level == mist::EventLevel::Warning ? "warning"
                                   : event.level == mist::EventLevel::Info  ? "info"
                                                                            : "debug";
    const std::string line = fmt::format("{} {} {}\n", mist::format_micro_time(clock_.now()), level,
                                         mist::escape_controls(event.text));
    const std::lock_guard lock(mutex_);
    print(2, line);
  }
  void began(const mist::ActivityBegan& /*event*/) override {}
  void ended(const mist::ActivityEnded& /*event*/) override {}
  void object(const mist::ObjectProgress& /*event*/) override {}
  bool shows(mist::EventLevel level) const override { return verbose_ || level != mist::EventLevel::Debug; }

 private:
  mist::Clock& clock_;
  const bool verbose_;
  std::mutex mutex_;
};

struct Options {
  std::string kubeconfig, context, ns;
  bool verbose = false, version = false, help = false;
};

Result<Options> parse(std::span<char*> arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view whole = arguments[i];
    const auto equals = whole.starts_with("--") ? whole.find('=') : std::string_view::npos;
    const std::string_view flag = whole.substr(0, equals);
    std::string* const text = flag == "--kubeconfig"                  ? &options.kubeconfig
                              : flag == "--context"                   ? &options.context
                              : flag == "--namespace" || flag == "-n" ? &options.ns
                                                                      : nullptr;
    bool* const on = flag == "--verbose" || flag == "-v" ? &options.verbose
                     : flag == "--version"               ? &options.version
                     : flag == "--help" || flag == "-h"  ? &options.help
                                                         : nullptr;
    if (text != nullptr && equals != std::string_view::npos) {
      *text = whole.substr(equals + 1);
    } else if (text != nullptr && i + 1 < arguments.size()) {
      *text = arguments[++i];
    } else if (on != nullptr && equals == std::string_view::npos) {
      *on = true;
    } else if (text != nullptr) {
      return mist::error(mist::ErrorKind::Usage, "{} needs a value", flag);
    } else {
      return mist::error(mist::ErrorKind::Usage, "unknown argument {}", mist::escape_controls(whole));
    }
  }
  return options;
}

mist::Status run(const Options& options, const mist::Context& context, mist::Pulse& pulse, Log& log,
                 mist::Clock& clock, const mist::Path& program) {
  mist::HostFileSystem files;
  mist::HostProcessRunner processes;
  mist::SystemRandom random;
  MIST_TRY(const mist::config::Paths paths, mist::config::Paths::from_environment(environment, program));
  const mist::kube::ConnectOptions connection{
      .kubeconfig = options.kubeconfig,
      .context = options.context,
      .ns = options.ns,
      .user_agent = mist::kube::user_agent("mistletoe-operator", MIST_VERSION),
      .cache_directory = {}};
  MIST_TRY(const auto client, mist::kube::connect(connection, {.fs = files,
                                                               .processes = processes,
                                                               .clock = clock,
                                                               .random = random,
                                                               .events = log,
                                                               .getenv = environment}));
  mist::package::RendererOptions engines;
  engines.code_cache = paths.compiled_code();
  engines.engines = mist::package::EngineStore(paths.engines, mist::package::kEngineDigests);
  engines.pulse = &pulse;
  engines.compiler = std::make_shared<mist::wasm::ProcessCompiler>(
      processes, mist::wasm::this_program(program), mist::wasm::CompileLimits{}, context);
  mist::package::Renderer renderer(engines, log);
  log.info(fmt::format("mistletoe-operator {} at {}", MIST_VERSION, client->describe()));
  mist::operator_::Controller controller(
      {.client = *client, .renderer = renderer, .clock = clock, .events = log}, client->default_namespace());
  return controller.run(context);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == mist::wasm::kCompileVerb)
    return mist::wasm::run_compiler(std::span(argv, static_cast<std::size_t>(argc)).subspan(2));
  mist::Interrupt interrupt;
  const auto options = parse(std::span(argv, static_cast<std::size_t>(argc)).subspan(argc > 0 ? 1 : 0));
  if (!options.ok()) {
    print(2, fmt::format("error: {}\n\n{}", options.error().message, kUsage));
    return 2;
  }
  if (options->help || options->version) {
    print(1, options->help ? std::string(kUsage) : fmt::format("mistletoe-operator {}\n", MIST_VERSION));
    return 0;
  }
  mist::SystemClock clock;
  Log log(clock, options->verbose);
  std::error_code failed;
  const mist::Path program = std::filesystem::read_symlink("/proc/self/exe", failed);
  const mist::Status done =
      run(*options, mist::Context(interrupt.token()), interrupt.pulse(), log, clock, program);
  if (done.ok() || interrupt.token().stop_requested()) return 0;
  print(2, fmt::format("error: {}\n", mist::escape_controls(done.error().to_line())));
  return 1;
}
