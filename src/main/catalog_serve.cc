#include "main/catalog_serve.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "base/text.h"
#include "build_info.h"
#include "catalog/oidc.h"
#include "catalog/password.h"
#include "catalog/poller.h"
#include "catalog/previews.h"
#include "catalog/site.h"
#include "http/client.h"
#include "http/txt_records.h"
#include "http/web_server.h"
#include "main/catalog_engines.h"
#include "main/catalog_workers.h"

namespace mist {
namespace {

constexpr Duration kBetweenDomains = std::chrono::hours(1);

Result<catalog::Registration> registration_asked(const CommandLine& line) {
  const std::string text = line.text("--registration", "closed");
  if (text == "closed") return catalog::Registration::Closed;
  if (text == "open") return catalog::Registration::Open;
  return error(ErrorKind::Usage, "--registration {} is neither closed nor open", escape_controls(text));
}

// Null without --oidc-issuer.
Result<std::unique_ptr<catalog::OidcClient>> issuer_of(const CommandLine& line, Machine& machine,
                                                       http::Transport& web, const std::string& url) {
  if (!line.has("--oidc-issuer")) return std::unique_ptr<catalog::OidcClient>();
  catalog::OidcOptions options{.issuer = line.text("--oidc-issuer"),
                               .client_id = line.text("--oidc-client-id"),
                               .redirect_url = url + "/login/oidc/callback"};
  if (line.has("--oidc-client-secret-file")) {
    MIST_TRY(const std::string text,
             machine.files.read(std::filesystem::absolute(line.text("--oidc-client-secret-file"))));
    options.client_secret = SecretString(std::string(trim(text)));
  }
  return catalog::OidcClient::make(web, machine.clock, std::move(options));
}

}  // namespace

Status serve(const CommandLine& line, Machine& machine, const DataPlace& place) {
  MIST_TRY(const CatalogData data, open_data(place, machine));
  const auto allowed =
      line.has("--allow-private-repositories") ? catalog::Repositories::Any : catalog::Repositories::Public;
  MIST_TRY(const Duration interval, line.duration("--poll-interval", "10m"));
  MIST_TRY(const int polls, line.number("--polls", "4", 64));
  if (polls == 0) return error(ErrorKind::Usage, "--polls 0 would look at no repository");
  MIST_TRY(const Duration lease, line.duration("--lease", "30s"));
  MIST_TRY(const int workers, line.number("--workers", "1", 64));
  MIST_TRY(const int reads, line.number("--reads-per-second", "200", 1'000'000));
  LimitedProcessRunner limited(catalog::kStrangersGitLimits);
  catalog::StrangersGit git(limited, place.directory.cache() / "git");
  catalog::Poller poller({.files = machine.files,
                          .processes = git,
                          .clock = machine.clock,
                          .events = machine.log,
                          .store = *data.store,
                          .blobs = *data.blobs,
                          .directory = place.directory.cache() / "repositories",
                          .allowed = allowed,
                          .interval = interval,
                          .most_polls = polls});
  const std::string listen = line.text("--listen", "127.0.0.1:8080");
  std::string url = line.text("--url", "http://" + listen);
  while (url.ends_with('/')) url.pop_back();
  MIST_TRY(const config::Paths paths, own_paths(machine, place.directory));
  catalog::Previews previews({.files = machine.files,
                              .packages = *data.blobs,
                              .directory = place.directory.cache() / "previews",
                              .options = engines_of(machine, paths),
                              .events = machine.log});
  MIST_TRY(const catalog::Registration registration, registration_asked(line));
  catalog::PasswordHasher passwords(machine.random);
  http::Client web(
      {.proxy_environment = http::ProxyEnvironment::from([](const char* name) { return std::getenv(name); }),
       .user_agent = "mistletoe-catalog"});
  MIST_TRY(const auto issuer, issuer_of(line, machine, web, url));
  MIST_TRY(const http::TxtResolver resolve_txt, http::txt_resolver(line.text("--name-server")));
  catalog::Site site({.store = *data.store,
                      .accounts = *data.accounts,
                      .feedback = *data.feedback,
                      .passwords = passwords,
                      .blobs = *data.blobs,
                      .clock = machine.clock,
                      .random = machine.random,
                      .events = machine.log,
                      .wake_poller = [&poller] { poller.wake(); },
                      .resolve_txt = resolve_txt,
                      .previews = &previews,
                      .oidc = issuer.get(),
                      .passkeys = data.passkeys.get()},
                     {.url = url,
                      .allowed = allowed,
                      .behind_proxy = line.has("--behind-proxy"),
                      .reads_per_second = static_cast<double>(reads),
                      .registration = registration});
  const std::jthread domains([&](const std::stop_token& stop) {
    do {
      if (const Status checked = site.domains().check_again(); !checked.ok())
        machine.log.warn("domains aren't checked now: " + checked.error().to_line());
    } while (machine.clock.sleep(kBetweenDomains, stop));
  });
  std::optional<catalog::TrialWorld> world;
  if (line.has("--kubeconfig")) {
    MIST_TRY(catalog::TrialWorld made, trial_world(line, machine, place, data, git));
    world.emplace(std::move(made));
  }
  MIST_TRY(const auto server, http::WebServer::listen(listen, {}, [&site](const http::WebRequest& request) {
             return site.answer(request);
           }));
  machine.log.info(fmt::format("mistletoe-catalog {} at http://{}, data in {}", MIST_VERSION,
                               server->address(), place.shown()));
  std::optional<Workers> testing;
  if (world) testing.emplace(machine, *data.store, *world, workers, lease);
  return poller.run(machine.context);
}

}  // namespace mist
