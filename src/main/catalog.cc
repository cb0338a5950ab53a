// mistletoe-catalog: the catalog's server, its workers, and the commands of whoever runs it.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <map>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/duration.h"
#include "base/process.h"
#include "base/process_identity.h"
#include "base/random.h"
#include "base/text.h"
#include "build_info.h"
#include "catalog/account_data.h"
#include "catalog/backup.h"
#include "catalog/blobs.h"
#include "catalog/catalog_database.h"
#include "catalog/oidc.h"
#include "catalog/password.h"
#include "catalog/poller.h"
#include "catalog/previews.h"
#include "catalog/site.h"
#include "catalog/sql_account_store.h"
#include "catalog/sql_blobs.h"
#include "catalog/sql_feedback_store.h"
#include "catalog/sql_passkey_store.h"
#include "catalog/sql_store.h"
#include "catalog/token.h"
#include "catalog/worker.h"
#include "config/paths.h"
#include "encoding/json.h"
#include "engine_digests.h"
#include "http/client.h"
#include "http/txt_records.h"
#include "http/web_server.h"
#include "kube/connect.h"
#include "kube_types_digests.h"
#include "main/interrupt.h"
#include "main/line_log.h"
#include "main/secret_line.h"
#include "postgres/url.h"
#include "wasm/compiler.h"

namespace {

using mist::error;
using mist::ErrorKind;
using mist::Path;
using mist::print_to;
using mist::Result;
using mist::Status;

constexpr std::string_view kUsage = R"(usage: mistletoe-catalog COMMAND [flags]

A catalog of packages for Kubernetes: fetches what authors tag, tests it, shows it. docs/catalog.md explains it.

  serve                      the web pages and the REST API; with --kubeconfig it tests packages, too
  worker --kubeconfig FILE   tests packages of the same data, beside serve
  user add NAME              an account (--role author, moderator or administrator; --password-file FILE)
  user password NAME         another password, of the terminal or of --password-file FILE; ends the sessions
  user role NAME ROLE        another role; ends the sessions
  user disable NAME          ends the sessions and tokens of an account, and lets it in no more
  user enable NAME           takes that back
  user reset-code NAME       removes the authenticator and the passkeys of somebody who lost them, and ends the sessions
  user link NAME SUBJECT     lets in whom the issuer (--oidc-issuer URL) calls SUBJECT
  user export NAME           all that is kept of an account, as JSON
  user delete NAME           deletes what is kept of an account; its versions stay, and nobody gets its name again
  user list                  all accounts
  token create NAME          a token for an account, printed once (--label TEXT, --expires TIME, --scopes LIST)
  token revoke NAME          ends all tokens of an account
  backup DIRECTORY           a copy of all data, while the catalog runs
  restore DIRECTORY          what backup made, into a data directory that isn't there, or an empty PostgreSQL database

All commands:
  --data DIRECTORY           of the catalog; default $XDG_DATA_HOME/mistletoe-catalog, ~/.local/share/mistletoe-catalog
  --database-url-file FILE   whose first line is the URL of a PostgreSQL database, in place of the directory's own: several
                             instances may share it. Or the environment's MISTLETOE_CATALOG_DATABASE, or
  --database URL             if it has no password: postgresql://USER@HOST:5432/NAME?sslmode=verify-full
  -v, --verbose; --version; -h, --help

serve:
  --listen ADDRESS           default 127.0.0.1:8080
  --url URL                  how others reach it: in commands on pages, webhooks and badges; default http://ADDRESS
  --behind-proxy             the address of a client is the last one in X-Forwarded-For
  --reads-per-second N       of one client on average (200); 0: no limit
  --poll-interval TIME       between looks at a repository (10m)
  --polls N                  how many repositories are looked at at once (4); never all of one account's
  --oidc-issuer URL          of OpenID Connect, by which accounts sign in, too; with
  --oidc-client-id ID, --oidc-client-secret-file FILE
  --name-server ADDRESS      by which domains of accounts are looked up (192.0.2.1:53); default: the system's
  --registration WHICH       closed (default): user add makes accounts; open: everybody makes one at /register
  --allow-private-repositories
                             also of this machine and its networks, by file://, http and ssh: for a catalog whose
                             authors may see all of that

serve and worker:
  --kubeconfig FILE          of a cluster that is for tests only: strangers' packages are installed there
  --context NAME             of the kubeconfig; its current one
  --workers N                how many tests at once in this process (1)
  --lease TIME               after which a silent worker's test is another's (30s)
  --timeout TIME             of each wait of a test (5m)
  --once                     worker: until the queue is empty
)";

std::optional<std::string> environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

struct Flag {
  std::string_view name;
  bool takes_value = true;
  std::string_view commands;  ///< those that have it; empty: all
};
constexpr std::array kFlags{
    Flag{"--data", true, ""},
    Flag{"--database", true, ""},
    Flag{"--database-url-file", true, ""},
    Flag{"--verbose", false, ""},
    Flag{"--listen", true, "serve"},
    Flag{"--url", true, "serve"},
    Flag{"--behind-proxy", false, "serve"},
    Flag{"--reads-per-second", true, "serve"},
    Flag{"--poll-interval", true, "serve"},
    Flag{"--polls", true, "serve"},
    Flag{"--allow-private-repositories", false, "serve"},
    Flag{"--kubeconfig", true, "serve worker"},
    Flag{"--context", true, "serve worker"},
    Flag{"--workers", true, "serve worker"},
    Flag{"--lease", true, "serve worker"},
    Flag{"--timeout", true, "serve worker"},
    Flag{"--once", false, "worker"},
    Flag{"--registration", true, "serve"},
    Flag{"--name-server", true, "serve"},
    Flag{"--oidc-issuer", true, "serve user link"},
    Flag{"--oidc-client-id", true, "serve"},
    Flag{"--oidc-client-secret-file", true, "serve"},
    Flag{"--role", true, "user add"},
    Flag{"--password-file", true, "user add user password"},
    Flag{"--label", true, "token create"},
    Flag{"--expires", true, "token create"},
    Flag{"--scopes", true, "token create"},
};

struct CommandLine {
  std::string command;  ///< "user add"
  std::vector<std::string> arguments = {};
  std::map<std::string_view, std::string> flags = {};

  bool has(std::string_view flag) const { return flags.contains(flag); }
  std::string text(std::string_view flag, std::string_view otherwise = {}) const {
    const auto found = flags.find(flag);
    return found == flags.end() ? std::string(otherwise) : found->second;
  }
  Result<mist::Duration> duration(std::string_view flag, std::string_view otherwise) const {
    auto parsed = mist::parse_duration(text(flag, otherwise));
    if (parsed.ok() && *parsed > mist::Duration::zero()) return parsed;
    return error(ErrorKind::Usage, "{} {} is not a time like 30s or 10m", flag,
                 mist::escape_controls(text(flag)));
  }
  Result<int> number(std::string_view flag, std::string_view otherwise, int most) const {
    const std::string digits = text(flag, otherwise);
    int number = 0;
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (failed == std::errc() && end == digits.data() + digits.size() && number >= 0 && number <= most)
      return number;
    return error(ErrorKind::Usage, "{} {} is not a number up to {}", flag, mist::escape_controls(digits),
                 most);
  }
};

// Which of the words begin the command, and how many arguments it takes.
struct CommandShape {
  std::string_view name;
  std::size_t arguments = 0;
};
constexpr std::array kCommands{
    CommandShape{"serve", 0},        CommandShape{"worker", 0},          CommandShape{"user add", 1},
    CommandShape{"user list", 0},    CommandShape{"user password", 1},   CommandShape{"user role", 2},
    CommandShape{"user disable", 1}, CommandShape{"user reset-code", 1}, CommandShape{"user export", 1},
    CommandShape{"user delete", 1},  CommandShape{"user link", 2},       CommandShape{"user enable", 1},
    CommandShape{"token create", 1}, CommandShape{"token revoke", 1},    CommandShape{"backup", 1},
    CommandShape{"restore", 1}};

Result<CommandLine> parse(std::span<char*> words) {
  CommandLine line;
  std::vector<std::string> plain;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view whole = words[i];
    if (whole == "-v") whole = "--verbose";
    if (!whole.starts_with('-')) {
      plain.emplace_back(whole);
      continue;
    }
    const auto equals = whole.find('=');
    const auto flag = std::ranges::find(kFlags, whole.substr(0, equals), &Flag::name);
    if (flag == kFlags.end() || (!flag->takes_value && equals != whole.npos))
      return error(ErrorKind::Usage, "there is no flag {}", mist::escape_controls(whole));
    if (!flag->takes_value)
      line.flags[flag->name] = "";
    else if (equals != whole.npos)
      line.flags[flag->name] = whole.substr(equals + 1);
    else if (i + 1 < words.size())
      line.flags[flag->name] = words[++i];
    else
      return error(ErrorKind::Usage, "{} needs a value", flag->name);
  }
  const std::string one = plain.empty() ? "" : plain[0];
  const std::string two = plain.size() < 2 ? one : one + ' ' + plain[1];
  const auto known = std::ranges::find_if(
      kCommands, [&](const CommandShape& shape) { return shape.name == one || shape.name == two; });
  if (plain.empty()) return error(ErrorKind::Usage, "a command is needed");
  if (known == kCommands.end())
    return error(ErrorKind::Usage, "there is no command {}", mist::escape_controls(two));
  line.command = known->name;
  line.arguments.assign(plain.begin() + (known->name == one ? 1 : 2), plain.end());
  if (line.arguments.size() != known->arguments)
    return error(ErrorKind::Usage, "{} takes {}", known->name, mist::plural(known->arguments, "argument"));
  for (const auto& [name, value] : line.flags) {
    const auto flag = std::ranges::find(kFlags, name, &Flag::name);
    if (!flag->commands.empty() && flag->commands.find(line.command) == std::string_view::npos)
      return error(ErrorKind::Usage, "{} is not for {}", name, line.command);
  }
  return line;
}

Result<Path> data_directory(const CommandLine& line) {
  if (line.has("--data")) return std::filesystem::absolute(line.text("--data")).lexically_normal();
  if (const auto data = environment("XDG_DATA_HOME"); data && !data->empty())
    return Path(*data) / "mistletoe-catalog";
  if (const auto home = environment("HOME"); home && !home->empty())
    return Path(*home) / ".local/share/mistletoe-catalog";
  return error(ErrorKind::Usage, "there is no home directory").with_hint("name a directory with --data");
}

constexpr const char* kDatabaseVariable = "MISTLETOE_CATALOG_DATABASE";

// nullopt: the database is a file of the data directory.
Result<std::optional<mist::postgres::Url>> database_url(const CommandLine& line, mist::FileSystem& files) {
  std::string text = environment(kDatabaseVariable).value_or("");
  // Not for the programs that we start.
  ::unsetenv(kDatabaseVariable);
  if (line.has("--database") && line.has("--database-url-file"))
    return error(ErrorKind::Usage, "--database and --database-url-file name two databases");
  if (line.has("--database")) text = line.text("--database");
  if (line.has("--database-url-file")) {
    MIST_TRY(text, files.read(std::filesystem::absolute(line.text("--database-url-file"))));
    text = mist::trim(text.substr(0, text.find('\n')));
    if (text.empty())
      return error(ErrorKind::Invalid, "the first line of {} is empty", line.text("--database-url-file"));
  }
  if (text.empty()) return std::nullopt;
  MIST_TRY(mist::postgres::Url url, mist::postgres::Url::parse(mist::SecretString(std::move(text))));
  if (line.has("--database") && url.has_password())
    return error(ErrorKind::Usage,
                 "--database has a password, which the list of processes shows to everybody")
        .with_hint(fmt::format("--database-url-file FILE, or the environment's {}", kDatabaseVariable));
  return url;
}

// The real world, and the catalog's data in it.
struct Program {
  const CommandLine& line;
  Path program;
  mist::Context context;
  mist::Pulse& pulse;
  mist::SystemClock& clock;
  mist::LineLog& log;
  mist::HostFileSystem files = {};
  mist::HostProcessRunner processes = {};
  mist::SystemRandom random = {};
  mist::catalog::DataPlaces places = {};
  std::optional<mist::postgres::Url> database = {};  ///< of a server; else a file of `places`
  std::unique_ptr<mist::catalog::Store> store = nullptr;
  std::unique_ptr<mist::catalog::AccountStore> accounts = nullptr;
  std::unique_ptr<mist::catalog::FeedbackStore> feedback = nullptr;
  std::unique_ptr<mist::catalog::PasskeyStore> passkeys = nullptr;
  std::unique_ptr<mist::catalog::Blobs> blobs = nullptr;

  Status open() {
    MIST_TRY_VOID(mist::config::make_private_directory(files, places.root));
    MIST_TRY_VOID(mist::config::make_private_directory(files, places.work()));
    MIST_TRY_VOID(mist::config::make_private_directory(files, places.cache() / "git"));
    MIST_TRY(const auto connections, database ? mist::catalog::open_postgres(*database)
                                              : mist::catalog::open_sqlite(places.database()));
    if (database)
      blobs = std::make_unique<mist::catalog::SqlBlobs>(connections);
    else
      blobs = std::make_unique<mist::catalog::FileBlobs>(files, places.blobs());
    MIST_TRY(store, mist::catalog::open_store(connections, clock, random));
    accounts = mist::catalog::account_store_in(connections, clock, random);
    feedback = mist::catalog::feedback_store_in(connections, clock);
    passkeys = mist::catalog::passkey_store_in(connections, clock, random);
    return {};
  }

  std::string place_of_data() const { return database ? database->shown() : places.root.string(); }

  Status audit(std::string_view what, const std::string& subject) const {
    return store->audit(
        {.when = {}, .who = "command line", .what = std::string(what), .subject = subject, .peer = {}});
  }
};

Result<std::unique_ptr<mist::kube::Client>> connect_cluster(Program& program, mist::EventSink& events) {
  const mist::kube::ConnectOptions options{
      .kubeconfig = program.line.text("--kubeconfig"),
      .context = program.line.text("--context"),
      .ns = {},
      .user_agent = mist::kube::user_agent("mistletoe-catalog", MIST_VERSION),
      .cache_directory = {}};
  MIST_TRY(auto client, mist::kube::connect(options, {.fs = program.files,
                                                      .processes = program.processes,
                                                      .clock = program.clock,
                                                      .random = program.random,
                                                      .events = events,
                                                      .getenv = environment}));
  return client;
}

Result<mist::config::Paths> own_paths(Program& program) {
  // A home of its own: no registry, credential or setting of the user who runs it.
  const Path home = program.places.cache() / "worker";
  MIST_TRY_VOID(mist::config::make_private_directory(program.files, home));
  return mist::config::Paths::from_environment(
      [&](std::string_view name) -> std::optional<std::string> {
        if (name == "MIST_HOME_LOCATION") return home.string();
        if (name == "MIST_CONFIG_LOCATION" || name == "XDG_CACHE_HOME") return std::nullopt;
        return environment(name);
      },
      program.program);
}

mist::package::RendererOptions engines_of(Program& program, const mist::config::Paths& paths) {
  constexpr mist::Duration kEngineTime = std::chrono::seconds(60);
  mist::package::RendererOptions engines;
  engines.code_cache = paths.compiled_code();
  engines.engine_limits.guest_time = kEngineTime;
  engines.engine_limits.memory_bytes = mist::catalog::Previews::kMemoryBytes;
  engines.engines = mist::package::EngineStore(paths.engines, mist::package::kEngineDigests);
  engines.pulse = &program.pulse;
  engines.compiler = std::make_shared<mist::wasm::ProcessCompiler>(
      program.processes, mist::wasm::this_program(program.program), mist::wasm::CompileLimits{},
      program.context);
  return engines;
}

Result<mist::catalog::TrialWorld> trial_world(Program& program, mist::ProcessRunner& git) {
  MIST_TRY(mist::config::Paths paths, own_paths(program));
  mist::package::RendererOptions engines = engines_of(program, paths);
  MIST_TRY(const std::string instance, program.store->instance());
  MIST_TRY(const mist::Duration timeout, program.line.duration("--timeout", "5m"));
  mist::package::TypeStore types(paths.schemas, mist::package::kKubeTypesDigests);
  mist::catalog::TrialWorld world{
      .files = program.files,
      .processes = git,
      .clock = program.clock,
      .random = program.random,
      .blobs = *program.blobs,
      .paths = std::move(paths),
      .engines = std::move(engines),
      .types = std::move(types),
      .connect = [&program](mist::EventSink& events) { return connect_cluster(program, events); },
      .directory = program.places.work(),
      .instance = instance,
      .timeout = timeout,
      .longest = 4 * timeout};
  // Versions would fail for what isn't their fault.
  MIST_TRY_VOID(mist::catalog::check_ready(world).in("while getting ready to test packages"));
  return world;
}

std::string holder_name(Program& program, int number) {
  return fmt::format("{}_{}_{}", mist::host_name(), program.random.token(6), number);
}

// Workers, as long as this lives.
class Workers {
 public:
  Workers(Program& program, const mist::catalog::TrialWorld& world, int count, mist::Duration lease) {
    for (int i = 0; i < count; ++i)
      threads_.emplace_back([&program, &world, lease, holder = holder_name(program, i)] {
        (void)mist::catalog::work(*program.store, world, {.holder = holder, .term = lease}, program.log,
                                  program.context);
      });
  }

 private:
  std::vector<std::jthread> threads_;
};

Result<mist::catalog::Registration> registration_asked(const CommandLine& line) {
  const std::string text = line.text("--registration", "closed");
  if (text == "closed") return mist::catalog::Registration::Closed;
  if (text == "open") return mist::catalog::Registration::Open;
  return error(ErrorKind::Usage, "--registration {} is neither closed nor open", mist::escape_controls(text));
}

// Null without --oidc-issuer.
Result<std::unique_ptr<mist::catalog::OidcClient>> issuer_of(Program& program, mist::http::Transport& web,
                                                             const std::string& url) {
  const CommandLine& line = program.line;
  if (!line.has("--oidc-issuer")) return std::unique_ptr<mist::catalog::OidcClient>();
  mist::catalog::OidcOptions options{.issuer = line.text("--oidc-issuer"),
                                     .client_id = line.text("--oidc-client-id"),
                                     .redirect_url = url + "/login/oidc/callback"};
  if (line.has("--oidc-client-secret-file")) {
    MIST_TRY(const std::string text,
             program.files.read(std::filesystem::absolute(line.text("--oidc-client-secret-file"))));
    options.client_secret = mist::SecretString(std::string(mist::trim(text)));
  }
  return mist::catalog::OidcClient::make(web, program.clock, std::move(options));
}

constexpr mist::Duration kBetweenDomains = std::chrono::hours(1);

Status serve(Program& program) {
  MIST_TRY_VOID(program.open());
  const CommandLine& line = program.line;
  const auto allowed = line.has("--allow-private-repositories") ? mist::catalog::Repositories::Any
                                                                : mist::catalog::Repositories::Public;
  MIST_TRY(const mist::Duration interval, line.duration("--poll-interval", "10m"));
  MIST_TRY(const int polls, line.number("--polls", "4", 64));
  if (polls == 0) return error(ErrorKind::Usage, "--polls 0 would look at no repository");
  MIST_TRY(const mist::Duration lease, line.duration("--lease", "30s"));
  MIST_TRY(const int workers, line.number("--workers", "1", 64));
  MIST_TRY(const int reads, line.number("--reads-per-second", "200", 1'000'000));
  mist::LimitedProcessRunner limited(mist::catalog::kStrangersGitLimits);
  mist::catalog::StrangersGit git(limited, program.places.cache() / "git");
  mist::catalog::Poller poller({.files = program.files,
                                .processes = git,
                                .clock = program.clock,
                                .events = program.log,
                                .store = *program.store,
                                .blobs = *program.blobs,
                                .directory = program.places.cache() / "repositories",
                                .allowed = allowed,
                                .interval = interval,
                                .most_polls = polls});
  const std::string listen = line.text("--listen", "127.0.0.1:8080");
  std::string url = line.text("--url", "http://" + listen);
  while (url.ends_with('/')) url.pop_back();
  MIST_TRY(const mist::config::Paths paths, own_paths(program));
  mist::catalog::Previews previews({.files = program.files,
                                    .packages = *program.blobs,
                                    .directory = program.places.cache() / "previews",
                                    .options = engines_of(program, paths),
                                    .events = program.log});
  MIST_TRY(const mist::catalog::Registration registration, registration_asked(line));
  mist::catalog::PasswordHasher passwords(program.random);
  mist::http::Client web({.proxy_environment = mist::http::ProxyEnvironment::from(
                              [](const char* name) { return std::getenv(name); }),
                          .user_agent = "mistletoe-catalog"});
  MIST_TRY(const auto issuer, issuer_of(program, web, url));
  MIST_TRY(const mist::http::TxtResolver resolve_txt, mist::http::txt_resolver(line.text("--name-server")));
  mist::catalog::Site site({.store = *program.store,
                            .accounts = *program.accounts,
                            .feedback = *program.feedback,
                            .passwords = passwords,
                            .blobs = *program.blobs,
                            .clock = program.clock,
                            .random = program.random,
                            .events = program.log,
                            .wake_poller = [&poller] { poller.wake(); },
                            .resolve_txt = resolve_txt,
                            .previews = &previews,
                            .oidc = issuer.get(),
                            .passkeys = program.passkeys.get()},
                           {.url = url,
                            .allowed = allowed,
                            .behind_proxy = line.has("--behind-proxy"),
                            .reads_per_second = static_cast<double>(reads),
                            .registration = registration});
  const std::jthread domains([&](const std::stop_token& stop) {
    do {
      if (const Status checked = site.domains().check_again(); !checked.ok())
        program.log.warn("domains aren't checked now: " + checked.error().to_line());
    } while (program.clock.sleep(kBetweenDomains, stop));
  });
  std::optional<mist::catalog::TrialWorld> world;
  if (line.has("--kubeconfig")) {
    MIST_TRY(mist::catalog::TrialWorld made, trial_world(program, git));
    world.emplace(std::move(made));
  }
  MIST_TRY(const auto server,
           mist::http::WebServer::listen(
               listen, {}, [&site](const mist::http::WebRequest& request) { return site.answer(request); }));
  program.log.info(fmt::format("mistletoe-catalog {} at http://{}, data in {}", MIST_VERSION,
                               server->address(), program.place_of_data()));
  std::optional<Workers> testing;
  if (world) testing.emplace(program, *world, workers, lease);
  return poller.run(program.context);
}

Status worker(Program& program) {
  if (!program.line.has("--kubeconfig"))
    return error(ErrorKind::Usage, "worker needs --kubeconfig")
        .with_hint("of a cluster that is for tests only: strangers' packages are installed there");
  MIST_TRY_VOID(program.open());
  MIST_TRY(const mist::Duration lease, program.line.duration("--lease", "30s"));
  MIST_TRY(const int workers, program.line.number("--workers", "1", 64));
  mist::LimitedProcessRunner limited(mist::catalog::kStrangersGitLimits);
  mist::catalog::StrangersGit git(limited, program.places.cache() / "git");
  MIST_TRY(const mist::catalog::TrialWorld world, trial_world(program, git));
  if (program.line.has("--once")) {
    const mist::catalog::WorkerOptions options{.holder = holder_name(program, 0), .term = lease};
    for (bool more = true; more && program.context.check().ok();) {
      MIST_TRY(more, mist::catalog::work_once(*program.store, world, options, program.log, program.context));
    }
    return {};
  }
  program.log.info(
      fmt::format("mistletoe-catalog {} worker, data in {}", MIST_VERSION, program.place_of_data()));
  const Workers testing(program, world, workers, lease);
  return {};
}

Result<mist::catalog::Role> role_named(const std::string& text) {
  if (const auto role = mist::catalog::role_of(text)) return *role;
  return error(ErrorKind::Usage, "there is no role {}", mist::escape_controls(text))
      .with_hint("author, moderator or administrator");
}

// The hash of a new password: the first line of --password-file, or of the terminal.
Result<std::string> hashed_password(Program& program, const std::string& account) {
  const std::string source = program.line.text("--password-file", "-");
  std::string text;
  if (source == "-") {
    MIST_TRY(text, mist::read_secret_line("new password: "));
  } else {
    MIST_TRY(text, program.files.read(std::filesystem::absolute(source)));
    text.resize(std::min(text.size(), text.find('\n')));
  }
  if (text.ends_with('\r')) text.pop_back();
  const mist::SecretString password(std::move(text));
  MIST_TRY_VOID(mist::catalog::check_new_password(password, account));
  return mist::catalog::PasswordHasher(program.random).hash(password);
}

Status add_user(Program& program) {
  MIST_TRY_VOID(program.open());
  const std::string& name = program.line.arguments[0];
  MIST_TRY(const mist::catalog::Role role, role_named(program.line.text("--role", "author")));
  std::string password;
  if (program.line.has("--password-file")) {
    MIST_TRY(password, hashed_password(program, name));
  }
  MIST_TRY(const mist::catalog::Account account, program.accounts->add(name, role, password));
  print_to(1, fmt::format("account {} added, with the role {}\n", account.name, to_string(account.role)));
  if (password.empty())
    print_to(1, fmt::format("mistletoe-catalog token create {0} makes a token for it, user password {0} a "
                            "password\n",
                            account.name));
  return program.audit("add account", account.name);
}

Status set_password(Program& program) {
  MIST_TRY_VOID(program.open());
  const std::string& name = program.line.arguments[0];
  MIST_TRY(const std::string hash, hashed_password(program, name));
  MIST_TRY_VOID(program.accounts->set_password(name, hash));
  return program.audit("change password", name);
}

Status set_role(Program& program) {
  MIST_TRY_VOID(program.open());
  const std::string& name = program.line.arguments[0];
  MIST_TRY(const mist::catalog::Role role, role_named(program.line.arguments[1]));
  MIST_TRY_VOID(program.accounts->set_role(name, role));
  return program.audit("set role", fmt::format("{} to {}", name, to_string(role)));
}

Status link_user(Program& program) {
  MIST_TRY_VOID(program.open());
  const std::string issuer = program.line.text("--oidc-issuer");
  if (issuer.empty()) return error(ErrorKind::Usage, "user link needs --oidc-issuer");
  const auto& arguments = program.line.arguments;
  MIST_TRY_VOID(program.accounts->link_identity(arguments[0], issuer, arguments[1]));
  return program.audit("link identity", arguments[0]);
}

Status reset_code(Program& program) {
  MIST_TRY_VOID(program.open());
  const std::string& name = program.line.arguments[0];
  const Status ended = program.accounts->end_second_factor(name);
  if (!ended.ok() && ended.error().kind != ErrorKind::NotFound) return ended.error();
  MIST_TRY(const std::int64_t passkeys, program.passkeys->remove_all(name));
  if (!ended.ok() && passkeys == 0)
    return error(ErrorKind::NotFound, "{} has neither an authenticator nor a passkey", name);
  if (ended.ok()) MIST_TRY_VOID(program.audit("remove authenticator", name));
  return passkeys == 0 ? Status() : program.audit("remove passkeys", name);
}

Status set_disabled(Program& program, bool disabled) {
  MIST_TRY_VOID(program.open());
  const std::string& name = program.line.arguments[0];
  MIST_TRY_VOID(program.accounts->set_disabled(name, disabled));
  return program.audit(disabled ? "disable" : "enable", name);
}

Status export_user(Program& program) {
  MIST_TRY_VOID(program.open());
  MIST_TRY(const mist::encoding::Value data, mist::catalog::account_data({.store = *program.store,
                                                                          .accounts = *program.accounts,
                                                                          .feedback = *program.feedback,
                                                                          .passkeys = program.passkeys.get()},
                                                                         program.line.arguments[0]));
  print_to(1, mist::encoding::to_json(data, mist::encoding::JsonStyle::Pretty) + "\n");
  return {};
}

Status delete_user(Program& program) {
  MIST_TRY_VOID(program.open());
  MIST_TRY(const std::string gone, program.accounts->remove(program.line.arguments[0]));
  print_to(1, fmt::format("account {} is {} now\n", program.line.arguments[0], gone));
  return program.audit("delete account", gone);
}

Status list_users(Program& program) {
  MIST_TRY_VOID(program.open());
  mist::catalog::Page page;
  do {
    MIST_TRY(const auto accounts, program.accounts->list(page));
    for (const mist::catalog::AccountDetails& each : accounts.items)
      print_to(1, fmt::format("{}\t{}{}\n", each.account.name, to_string(each.account.role),
                              each.disabled ? "\tdisabled" : ""));
    page.after = accounts.next;
  } while (!page.after.empty());
  return {};
}

Status create_token(Program& program) {
  MIST_TRY_VOID(program.open());
  MIST_TRY(const mist::catalog::Scopes scopes,
           mist::catalog::Scopes::parse(program.line.text("--scopes", mist::catalog::kUsualScopes)));
  const mist::SecretString token = mist::catalog::new_token(program.random);
  mist::catalog::NewToken stored{.account = program.line.arguments[0],
                                 .digest = mist::catalog::token_digest(token.reveal()),
                                 .label = program.line.text("--label"),
                                 .scopes = mist::join(scopes.names(), " ")};
  if (program.line.has("--expires")) {
    MIST_TRY(const mist::Duration time, program.line.duration("--expires", ""));
    stored.expires = program.clock.now() + std::chrono::duration_cast<mist::WallTime::duration>(time);
  }
  MIST_TRY_VOID(program.accounts->add_token(stored));
  MIST_TRY_VOID(program.audit("create token", stored.account));
  // The only time that anybody sees it.
  print_to(1, token.reveal() + "\n");
  return {};
}

Status revoke_tokens(Program& program) {
  MIST_TRY_VOID(program.open());
  MIST_TRY_VOID(program.accounts->revoke_tokens(program.line.arguments[0]));
  return program.audit("revoke tokens", program.line.arguments[0]);
}

Status back_up(Program& program, const Path& target) {
  if (program.database)
    return mist::catalog::back_up(program.files, *program.database, target, program.context);
  return mist::catalog::back_up(program.files, program.places, target, program.context);
}

Status restore(Program& program, const Path& source) {
  if (!program.database)
    return mist::catalog::restore(program.files, source, program.places, program.context);
  MIST_TRY_VOID(mist::config::make_private_directory(program.files, program.places.root));
  return mist::catalog::restore(program.files, source, *program.database, program.places.root / "restoring",
                                program.context);
}

Status run(Program& program) {
  MIST_TRY(program.places.root, data_directory(program.line));
  MIST_TRY(program.database, database_url(program.line, program.files));
  const std::string& command = program.line.command;
  if (command == "serve") return serve(program);
  if (command == "worker") return worker(program);
  if (command == "user add") return add_user(program);
  if (command == "user password") return set_password(program);
  if (command == "user role") return set_role(program);
  if (command == "user reset-code") return reset_code(program);
  if (command == "user link") return link_user(program);
  if (command == "user disable") return set_disabled(program, true);
  if (command == "user enable") return set_disabled(program, false);
  if (command == "user export") return export_user(program);
  if (command == "user delete") return delete_user(program);
  if (command == "user list") return list_users(program);
  if (command == "token create") return create_token(program);
  if (command == "token revoke") return revoke_tokens(program);
  const Path other = std::filesystem::absolute(program.line.arguments[0]).lexically_normal();
  if (command == "backup") return back_up(program, other);
  return restore(program, other);
}

int fail(const mist::Error& failure) {
  print_to(2, fmt::format("error: {}\n", mist::escape_controls(failure.to_line())));
  if (!failure.hint.empty()) print_to(2, fmt::format("try: {}\n", mist::escape_controls(failure.hint)));
  return failure.kind == ErrorKind::Usage ? 2 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == mist::wasm::kCompileVerb)
    return mist::wasm::run_compiler(std::span(argv, static_cast<std::size_t>(argc)).subspan(2));
  mist::Interrupt interrupt;
  const auto words = std::span(argv, static_cast<std::size_t>(argc)).subspan(argc > 0 ? 1 : 0);
  const auto asks = [&](std::string_view flag) {
    return std::ranges::any_of(words, [&](const char* word) { return word == flag; });
  };
  if (asks("--help") || asks("-h") || asks("--version")) {
    print_to(1,
             asks("--version") ? fmt::format("mistletoe-catalog {}\n", MIST_VERSION) : std::string(kUsage));
    return 0;
  }
  const auto line = parse(words);
  if (!line.ok()) {
    print_to(2, fmt::format("error: {}\nmistletoe-catalog --help lists commands and flags\n",
                            line.error().message));
    return 2;
  }
  mist::SystemClock clock;
  mist::LineLog log(clock, line->has("--verbose"));
  std::error_code failed;
  Program program{.line = *line,
                  .program = std::filesystem::read_symlink("/proc/self/exe", failed),
                  .context = mist::Context(interrupt.token()),
                  .pulse = interrupt.pulse(),
                  .clock = clock,
                  .log = log};
  const Status done = run(program);
  if (done.ok() || (interrupt.token().stop_requested() && done.error().kind == ErrorKind::Cancelled))
    return 0;
  return fail(done.error());
}
