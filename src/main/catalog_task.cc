#include "main/catalog_task.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "base/secret.h"
#include "base/text.h"
#include "build_info.h"
#include "catalog/blobs.h"
#include "catalog/poller.h"
#include "catalog/task_client.h"
#include "catalog/trial_messages.h"
#include "config/paths.h"
#include "http/client.h"
#include "http/proxy.h"
#include "main/catalog_trial.h"
#include "main/catalog_workers.h"

namespace mist {
namespace {

// For the last words of a Pod that was told to end.
constexpr std::chrono::seconds kLastWords{20};

Result<std::string> word_in(const FileSystem& files, const Path& file) {
  MIST_TRY(const std::string text, files.read(file));
  if (trim(text).empty()) return error(ErrorKind::Invalid, "{} is empty", file.string());
  return std::string(trim(text));
}

Result<bool> test_task(Machine& machine, const catalog::DataPlaces& places, catalog::TaskClient& catalog,
                       const catalog::TrialRequest& request, const catalog::TrialReport& report) {
  if (request.program != program_version())
    return catalog::another_program(program_version(), request.program);
  catalog::FileBlobs packages(machine.files, places.work() / "packages");
  MIST_TRY_VOID(catalog.fetch(request.job.digest, packages, machine.context));
  if (!request.job.previous_digest.empty()) {
    const Status previous = catalog.fetch(request.job.previous_digest, packages, machine.context);
    // The upgrade's step says that it isn't there.
    if (!previous.ok())
      report.warn(fmt::format("{}: {}", request.job.previous_version, previous.error().to_line()));
  }
  return run_requested_trial(machine, request, places, packages, report);
}

}  // namespace

Status run_task(Machine& machine, const catalog::DataPlaces& places, const Path& directory) {
  const Path secret = std::filesystem::absolute(directory).lexically_normal();
  MIST_TRY(std::string url, word_in(machine.files, secret / catalog::kTaskUrlFile));
  MIST_TRY(std::string token, word_in(machine.files, secret / catalog::kTaskTokenFile));
  MIST_TRY_VOID(config::make_private_directory(machine.files, places.root));
  http::Client web(
      {.proxy_environment = http::ProxyEnvironment::from([](const char* name) { return std::getenv(name); }),
       .user_agent = fmt::format("mistletoe-catalog/{}", MIST_VERSION)});
  catalog::TaskClient catalog(web, {.url = std::move(url), .token = SecretString(std::move(token))});
  MIST_TRY(catalog::TrialRequest request, catalog.request(machine.context));
  request.kubeconfig = (secret / catalog::kTaskKubeconfigFile).string();
  machine.log.info(fmt::format("testing {} {}", request.job.package, request.job.version));
  // It goes on telling what it removes after it was told to end.
  const Context speaking;
  MIST_TRY_VOID(catalog.say(catalog::hello_line(request.program), false, speaking));
  const catalog::TrialReport report =
      catalog::report_by([&](const std::string& line) { return catalog.say(line, false, speaking); });
  const Result<bool> passed = test_task(machine, places, catalog, request, report);
  const bool is_stopped = machine.context.stop().stop_requested();
  MIST_TRY_VOID(catalog.say(catalog::end_line(passed), true,
                            is_stopped ? speaking.with_timeout(kLastWords) : speaking));
  machine.log.info(passed.ok() ? (*passed ? "passed" : "failed") : passed.error().to_line());
  return {};
}

}  // namespace mist
