#include "base/text.h"
#include "cli/commands.h"
#include "cli/output/prompt.h"
#include "cli/parse/flags.h"
#include "cli/registry_access.h"
#include "registry/docker_config.h"

namespace mist::cli {
namespace {

constexpr std::uint64_t kMaxPassword = 64 << 10;

constexpr Argument kHost[] = {{.name = "HOST", .help = "The registry, with its port if it has one"}};

// login

constexpr Flag kLoginFlags[] = {
    {.name = "username",
     .letter = 'u',
     .type = FlagType::Text,
     .value = "NAME",
     .help = "Without it, it is asked for"},
    {.name = "password-stdin", .help = "Read the password, or a token, from standard input"},
    kPlainHttpFlag,
};
constexpr FlagGroup kLoginGroups[] = {{"Flags", kLoginFlags}};
constexpr Example kLoginExamples[] = {
    {"mistctl login registry.example -u alice", "Asks for the password"},
    {"mistctl login ghcr.io -u alice --password-stdin", "In a script, with the password on standard input"},
};

Result<registry::Login> asked_login(const Invocation& invocation, Machine& machine, const std::string& host) {
  registry::Login login{.user = invocation.text("username"), .password = {}};
  if (invocation.enabled("password-stdin")) {
    if (login.user.empty())
      return error(ErrorKind::Usage, "--password-stdin needs the user's name").with_hint("add -u NAME");
    MIST_TRY(std::string text, machine.in.read_all(kMaxPassword, machine.context));
    text.resize(std::min(text.find_last_not_of("\r\n") + 1, text.size()));
    login.password = SecretString(std::move(text));
  } else {
    if (login.user.empty()) {
      MIST_TRY(login.user, ask(machine, invocation, {fmt::format("User of {}: ", host), "-u NAME"}));
    }
    MIST_TRY(login.password, ask_secret(machine, invocation,
                                        {fmt::format("Password of {} at {}: ", login.user, host),
                                         "--password-stdin, and give the password there"}));
  }
  if (login.user.empty() || login.user.find(':') != std::string::npos)
    return error(ErrorKind::Usage, "the user's name is empty, or has a ':' in it")
        .with_hint("give it with -u NAME");
  if (login.password.empty()) return error(ErrorKind::Usage, "the password is empty");
  return login;
}

Result<ExitCode> run_login(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const std::string host, oci::parse_host(invocation.argument("HOST")));
  MIST_TRY(const registry::Login login, asked_login(invocation, machine, host));
  const std::unique_ptr<http::Transport> transport = web_transport(machine);
  registry::OciClient client(
      *transport,
      [&](const std::string&, const std::string&, const Context&) -> Result<std::optional<registry::Login>> {
        return std::optional(login);
      },
      {.plain_http = invocation.enabled(kPlainHttpFlag.name)});
  MIST_TRY(const bool asked, client.check_access(host, machine.context));
  const registry::DockerConfig config({machine.files, machine.processes, machine.environment});
  MIST_TRY(const std::string place, config.store(host, login, machine.context));
  if (!asked)
    machine.events->warn(fmt::format("{} lets everybody in, so the password was not checked", host));
  machine.events->info(fmt::format("logged in to {}; the credentials are in {}", host, place));
  return ExitCode::Ok;
}

// logout

constexpr Example kLogoutExamples[] = {{"mistctl logout registry.example", ""}};

Result<ExitCode> run_logout(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const std::string host, oci::parse_host(invocation.argument("HOST")));
  const registry::DockerConfig config({machine.files, machine.processes, machine.environment});
  MIST_TRY(const std::optional<std::string> place, config.erase(host, machine.context));
  // Those of other tools are sent, too.
  const Result<std::optional<registry::KeptLogin>> kept = config.kept(host, machine.context);
  MIST_TRY_VOID(machine.context.check());
  const bool is_kept = kept.ok() && kept->has_value();
  if (!is_kept) {
    machine.events->info(place
                             ? fmt::format("logged out of {}; the credentials are gone from {}", host, *place)
                             : fmt::format("there were no credentials for {}", host));
    // Nor can they be sent from there.
    if (!kept.ok())
      machine.events->warn(fmt::format("whether another tool keeps credentials for it can't be read: {}",
                                       escape_controls(kept.error().to_line())));
    return ExitCode::Ok;
  }
  const registry::KeptLogin* const still = &**kept;
  // Such as a cloud's, which makes them.
  if (place && still->place == *place)
    return error(ErrorKind::Conflict, "{} still gives credentials for {}", still->place,
                 escape_controls(still->name))
        .with_hint("log out with the tool that it belongs to, or take it out of the file that names it");
  if (place) machine.events->info(fmt::format("the credentials for {} are gone from {}", host, *place));
  return error(ErrorKind::Conflict, "there are still credentials for {} in {}", escape_controls(still->name),
               still->place)
      .with_hint(still->logout.empty() ? "remove that entry from the file" : still->logout);
}

}  // namespace

constinit const Command kLoginCommand{.path = "login",
                                      .summary = "Keep credentials for an OCI registry",
                                      .run = run_login,
                                      .arguments = kHost,
                                      .flags = kLoginGroups,
                                      .examples = kLoginExamples,
                                      .cluster = ClusterUse::None};

constinit const Command kLogoutCommand{.path = "logout",
                                       .summary = "Forget the credentials for an OCI registry",
                                       .run = run_logout,
                                       .arguments = kHost,
                                       .examples = kLogoutExamples,
                                       .cluster = ClusterUse::None};

}  // namespace mist::cli
