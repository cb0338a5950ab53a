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
#include "catalog/shared_bytes.h"
#include "catalog/site.h"
#include "http/client.h"
#include "http/txt_records.h"
#include "http/web_server.h"
#include "main/catalog_engines.h"
#include "main/catalog_workers.h"

namespace mist {
namespace {

constexpr Duration kBetweenDomains = std::chrono::hours(1);
// For claims that another instance took, and didn't look at.
constexpr Duration kBetweenClaims = std::chrono::seconds(10);

struct ServeOptions {
  catalog::Repositories allowed = catalog::Repositories::Public;
  Duration interval = {};
  int polls = 0;
  Duration lease = {};
  int workers = 0;
  int reads_per_second = 0;
  std::string listen = {};
  std::string url = {};  // without a slash at its end
  catalog::Registration registration = catalog::Registration::Closed;
  catalog::ReviewPolicy review = catalog::ReviewPolicy::None;
};

Result<catalog::Registration> registration_asked(const CommandLine& line) {
  const std::string text = line.text("--registration", "closed");
  if (text == "closed") return catalog::Registration::Closed;
  if (text == "open") return catalog::Registration::Open;
  return error(ErrorKind::Usage, "--registration {} is neither closed nor open", escape_controls(text));
}

Result<catalog::ReviewPolicy> review_asked(const CommandLine& line) {
  const std::string text = line.text("--review", "none");
  if (const auto policy = catalog::review_policy_of(text)) return *policy;
  return error(ErrorKind::Usage, "--review {} is none of none, first-version and every-version",
               escape_controls(text));
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

Result<ServeOptions> options_asked(const CommandLine& line) {
  ServeOptions asked;
  if (line.has("--allow-private-repositories")) asked.allowed = catalog::Repositories::Any;
  MIST_TRY(asked.interval, line.duration("--poll-interval", "10m"));
  MIST_TRY(asked.polls, line.number("--polls", "4", 64));
  if (asked.polls == 0) return error(ErrorKind::Usage, "--polls 0 would look at no repository");
  MIST_TRY(asked.lease, line.duration("--lease", "30s"));
  MIST_TRY(asked.workers, tests_at_once(line));
  MIST_TRY(asked.reads_per_second, line.number("--reads-per-second", "200", 1'000'000));
  asked.listen = line.text("--listen", "127.0.0.1:8080");
  asked.url = line.text("--url", "http://" + asked.listen);
  while (asked.url.ends_with('/')) asked.url.pop_back();
  MIST_TRY(asked.registration, registration_asked(line));
  MIST_TRY(asked.review, review_asked(line));
  return asked;
}

// Until it is stopped.
void keep_domains_checked(catalog::Site& site, Machine& machine, const std::stop_token& stop) {
  do {
    auto more = site.domains().check_again();
    while (more.ok() && *more && !stop.stop_requested()) more = site.domains().check_again();
    if (!more.ok()) machine.log.warn("domains aren't checked now: " + more.error().to_line());
  } while (machine.clock.sleep(kBetweenDomains, stop));
}

// Apart from what is checked again, which may wait for many silent name servers.
void keep_claims_looked_at(catalog::Site& site, Machine& machine, const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto looked = site.domains().look_at_claims();
    if (!looked.ok()) machine.log.warn("domains can't be proved now: " + looked.error().to_line());
    if (!looked.ok() || !*looked) site.domains().wait_for_claims(kBetweenClaims, stop);
  }
}

}  // namespace

Status serve(const CommandLine& line, Machine& machine, const DataPlace& place) {
  MIST_TRY(const ServeOptions asked, options_asked(line));
  MIST_TRY(const CatalogData data, open_data(place, machine));
  LimitedProcessRunner limited(catalog::kStrangersGitLimits);
  catalog::IsolatedGit git(limited, place.directory.cache() / "git", git_proxy_asked(line));
  // Else each project would have that problem.
  if (asked.allowed == catalog::Repositories::Public)
    MIST_TRY_VOID(git.check_keeps_addresses(machine.context));
  catalog::Poller poller({.files = machine.files,
                          .processes = git,
                          .clock = machine.clock,
                          .events = machine.log,
                          .store = *data.store,
                          .blobs = *data.blobs,
                          .directory = place.directory.cache() / "repositories",
                          .allowed = asked.allowed,
                          .review = asked.review,
                          .interval = asked.interval,
                          .most_polls = asked.polls});
  MIST_TRY(const config::Paths paths, own_paths(machine, place.directory));
  catalog::SharedBytes shared;
  catalog::Previews previews({.files = machine.files,
                              .packages = *data.blobs,
                              .shared = shared,
                              .directory = place.directory.cache() / "previews",
                              .options = engines_of(machine, paths),
                              .events = machine.log});
  catalog::PasswordHasher passwords(machine.random);
  http::Client web(
      {.proxy_environment = http::ProxyEnvironment::from([](const char* name) { return std::getenv(name); }),
       .user_agent = "mistletoe-catalog"});
  MIST_TRY(const auto issuer, issuer_of(line, machine, web, asked.url));
  MIST_TRY(const http::TxtResolver resolve_txt, http::txt_resolver(line.text("--name-server")));
  catalog::Site site({.store = *data.store,
                      .accounts = *data.accounts,
                      .feedback = *data.feedback,
                      .passwords = passwords,
                      .blobs = *data.blobs,
                      .shared = shared,
                      .clock = machine.clock,
                      .random = machine.random,
                      .events = machine.log,
                      .wake_poller = [&poller] { poller.wake(); },
                      .resolve_txt = resolve_txt,
                      .previews = &previews,
                      .oidc = issuer.get(),
                      .passkeys = data.passkeys.get(),
                      .tasks = data.tasks.get()},
                     {.url = asked.url,
                      .allowed = asked.allowed,
                      .behind_proxy = line.has("--behind-proxy"),
                      .reads_per_second = static_cast<double>(asked.reads_per_second),
                      .registration = asked.registration});
  const std::jthread domains([&](const std::stop_token& stop) { keep_domains_checked(site, machine, stop); });
  const std::jthread claims([&](const std::stop_token& stop) { keep_claims_looked_at(site, machine, stop); });
  std::unique_ptr<Testing> tests;
  if (tests_packages(line)) {
    MIST_TRY(tests, Testing::make(line, machine, place, data, git));
  }
  const auto answer = [&site](const http::WebRequest& request) { return site.answer(request); };
  // So early that a quarter stays for clients that aren't slow.
  const http::WebServerOptions bounds{.shared_bytes = catalog::SharedBytes::kMost / 4 * 3};
  MIST_TRY(const auto server, http::WebServer::listen(asked.listen, bounds, answer));
  machine.log.info(fmt::format("mistletoe-catalog {} at http://{}, data in {}", MIST_VERSION,
                               server->address(), place.shown()));
  std::optional<Workers> testing;
  if (tests) testing.emplace(machine, *data.store, tests->dependencies(), asked.workers, asked.lease);
  return poller.run(machine.context);
}

}  // namespace mist
