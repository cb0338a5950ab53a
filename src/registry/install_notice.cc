#include "registry/install_notice.h"

#include "base/text.h"
#include "config/paths.h"
#include "crypto/digest.h"
#include "http/url.h"

namespace mist::registry {
namespace {

constexpr auto kPatience = std::chrono::seconds(5);
constexpr std::uint64_t kLongestAnswer = 64 << 10;

}  // namespace

Status notify_of_install(const CatalogVersion& installed, const Path& directory, FileSystem& files,
                         const Clock& clock, http::Transport& transport, const Context& context) {
  const std::string today = format_time(clock.now()).substr(0, 10);
  const Path file =
      directory / crypto::sha256(fmt::format("{}\n{}", installed.catalog, installed.package)).hex();
  if (const Result<std::string> told = files.read(file, 100); told.ok() && *told == today) return {};
  MIST_TRY_VOID(config::make_private_directory(files, directory));
  MIST_TRY_VOID(files.write(file, today, {.mode = 0600, .durable = false}));
  const std::string path =
      fmt::format("/api/v1/packages/{}/versions/{}/installs", http::escape_segment(installed.package),
                  http::escape_segment(installed.version));
  MIST_TRY(const http::Response response, transport.send({.method = "POST",
                                                          .url = http::join_url(installed.catalog, path),
                                                          .headers = {},
                                                          .repeat = http::Repeat::Never,
                                                          .response_limit = kLongestAnswer},
                                                         context.with_timeout(kPatience)));
  if (response.status >= 200 && response.status < 300) return {};
  return error(response.status >= 500 || response.status == 429 ? ErrorKind::Retryable : ErrorKind::Invalid,
               "{} answered with status {}", http::loggable_url(http::join_url(installed.catalog, path)),
               response.status);
}

}  // namespace mist::registry
