#include "main/catalog_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "base/duration.h"
#include "base/text.h"

namespace mist {
namespace {

constexpr std::string_view kUsage = R"(usage: mistletoe-catalog COMMAND [flags]

A catalog of packages for Kubernetes: fetches what authors tag, tests it, shows it. docs/catalog-admin.md says how to run
one, docs/catalog.md how to use it.

  serve                      the web pages and the REST API; with --kubeconfig or --cluster-command it tests packages, too
  worker --kubeconfig FILE   tests packages of the same data, beside serve
  user add NAME              an account (--role author, moderator or administrator; --password-file FILE)
  user password NAME         another password, of the terminal or of --password-file FILE; ends the sessions
  user role NAME ROLE        another role; ends the sessions
  user disable NAME          ends the sessions and tokens of an account, lets it in no more, and takes no new versions of it
  user enable NAME           takes that back
  user reset-code NAME       removes the authenticator and the passkeys of somebody who lost them, and ends the sessions
  user link NAME SUBJECT     lets in whom the issuer (--oidc-issuer URL) calls SUBJECT
  user export NAME           all that is kept of an account, as JSON
  user delete NAME           deletes what is kept of an account; its versions stay, and nobody gets its name again
  user list                  all accounts
  token create NAME          a token for an account, printed once (--label TEXT, --expires TIME, --scopes LIST)
  token revoke NAME          ends all tokens of an account
  backup DIRECTORY           a copy of all data, while the catalog runs
  restore DIRECTORY          what backup made, into a data directory that isn't there, or an empty PostgreSQL database.
                             With --same-catalog it goes on in the place of that one, which doesn't run any more

All commands:
  --data DIRECTORY           of the catalog; default $XDG_DATA_HOME/mistletoe-catalog, ~/.local/share/mistletoe-catalog
  --database-url-file FILE   whose first line is the URL of a PostgreSQL database, in place of the directory's own: several
                             instances may share it. Or the environment's MISTLETOE_CATALOG_DATABASE, or
  --database URL             if it has no password: postgresql://USER@HOST:5432/NAME?sslmode=verify-full
  -v, --verbose; --version; -h, --help

serve:
  --listen ADDRESS           default 127.0.0.1:8080
  --url URL                  how others reach it: in commands on pages, webhooks and badges; default http://ADDRESS.
                             worker: how the Pods of --jobs-kubeconfig reach it
  --behind-proxy             the address of a client is the last one in X-Forwarded-For
  --reads-per-second N       of one client on average (200); 0: no limit
  --poll-interval TIME       between looks at a repository (10m)
  --polls N                  how many repositories are looked at at once (4); never all of one account's
  --oidc-issuer URL          of OpenID Connect, by which accounts sign in, too; with
  --oidc-client-id ID, --oidc-client-secret-file FILE
  --name-server ADDRESS      by which domains of accounts are looked up (192.0.2.1:53); default: the system's
  --registration WHICH       closed (default): user add makes accounts; open: everybody makes one at /register
  --review WHICH             none (default); first-version, every-version: a moderator approves it before others see it
  --allow-private-repositories
                             also of this machine and its networks, by file://, http and ssh: for a catalog whose
                             authors may see all of that

serve and worker:
  --git-through-proxy        git uses the proxy of the environment (HTTPS_PROXY) for strangers' repositories: the proxy looks up
                             their names, and has to keep them from your networks
  --kubeconfig FILE          of a cluster that is for tests only: strangers' packages are installed there
  --context NAME             of the kubeconfig; its current one
  --cluster-command COMMAND  in place of --kubeconfig: starts a cluster for each test (by /bin/sh), prints the path of its
                             kubeconfig, and takes it away when its standard input ends
  --isolation WHICH          bubblewrap (default): each test runs in namespaces of its own, with limits; none: in this process
  --workers N                how many tests at once in this process (1)
  --jobs-kubeconfig FILE     of a cluster on which each test runs as a Kubernetes Job, in place of this machine; needs --url,
                             --kubeconfig, and
  --jobs-image IMAGE         which has this version of mistletoe-catalog
  --jobs-namespace NAME      of the Jobs; that of the kubeconfig
  --jobs-at-once N           how many Jobs at once, in place of --workers (10)
  --lease TIME               after which a silent worker's test is another's (30s)
  --timeout TIME             of each wait of a test (5m)
  --once                     worker: until the queue is empty
  --task DIRECTORY           worker, in the Pod of such a Job: tests what the Secret there names, and tells the catalog
)";

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
    Flag{"--url", true, "serve worker"},
    Flag{"--behind-proxy", false, "serve"},
    Flag{"--reads-per-second", true, "serve"},
    Flag{"--poll-interval", true, "serve"},
    Flag{"--polls", true, "serve"},
    Flag{"--allow-private-repositories", false, "serve"},
    Flag{"--git-through-proxy", false, "serve worker"},
    Flag{"--kubeconfig", true, "serve worker"},
    Flag{"--context", true, "serve worker"},
    Flag{"--cluster-command", true, "serve worker"},
    Flag{"--isolation", true, "serve worker"},
    Flag{"--workers", true, "serve worker"},
    Flag{"--lease", true, "serve worker"},
    Flag{"--timeout", true, "serve worker"},
    Flag{"--jobs-kubeconfig", true, "serve worker"},
    Flag{"--jobs-image", true, "serve worker"},
    Flag{"--jobs-namespace", true, "serve worker"},
    Flag{"--jobs-at-once", true, "serve worker"},
    Flag{"--once", false, "worker"},
    Flag{"--task", true, "worker"},
    Flag{"--registration", true, "serve"},
    Flag{"--review", true, "serve"},
    Flag{"--name-server", true, "serve"},
    Flag{"--oidc-issuer", true, "serve user link"},
    Flag{"--oidc-client-id", true, "serve"},
    Flag{"--oidc-client-secret-file", true, "serve"},
    Flag{"--same-catalog", false, "restore"},
    Flag{"--role", true, "user add"},
    Flag{"--password-file", true, "user add user password"},
    Flag{"--label", true, "token create"},
    Flag{"--expires", true, "token create"},
    Flag{"--scopes", true, "token create"},
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

}  // namespace

std::string CommandLine::text(std::string_view flag, std::string_view otherwise) const {
  const auto found = flags.find(flag);
  return found == flags.end() ? std::string(otherwise) : found->second;
}

Result<Duration> CommandLine::duration(std::string_view flag, std::string_view otherwise) const {
  auto parsed = parse_duration(text(flag, otherwise));
  if (parsed.ok() && *parsed > Duration::zero()) return parsed;
  return error(ErrorKind::Usage, "{} {} is not a time like 30s or 10m", flag, escape_controls(text(flag)));
}

Result<int> CommandLine::number(std::string_view flag, std::string_view otherwise, int most) const {
  const std::string digits = text(flag, otherwise);
  int number = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failed == std::errc() && end == digits.data() + digits.size() && number >= 0 && number <= most)
    return number;
  return error(ErrorKind::Usage, "{} {} is not a number up to {}", flag, escape_controls(digits), most);
}

std::string_view catalog_usage() { return kUsage; }

Result<CommandLine> parse_catalog_line(std::span<char*> words) {
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
      return error(ErrorKind::Usage, "there is no flag {}", escape_controls(whole));
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
    return error(ErrorKind::Usage, "there is no command {}", escape_controls(two));
  line.command = known->name;
  line.arguments.assign(plain.begin() + (known->name == one ? 1 : 2), plain.end());
  if (line.arguments.size() != known->arguments)
    return error(ErrorKind::Usage, "{} takes {}", known->name, plural(known->arguments, "argument"));
  for (const auto& [name, value] : line.flags) {
    const auto flag = std::ranges::find(kFlags, name, &Flag::name);
    if (!flag->commands.empty() && flag->commands.find(line.command) == std::string_view::npos)
      return error(ErrorKind::Usage, "{} is not for {}", name, line.command);
  }
  return line;
}

}  // namespace mist
