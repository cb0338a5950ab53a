#include "base/bubblewrap.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <initializer_list>

#include "base/text.h"

namespace mist {
namespace {

// Of this machine, read-only: what programs need to run, and public certificates. Private keys lie beside
// those, in /etc/ssl/private and /etc/pki/tls/private, so the directories above aren't among these.
constexpr std::array kSystem{
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/ssl/openssl.cnf",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/tls/openssl.cnf",
    "/etc/crypto-policies",
};
// How names are looked up.
constexpr std::array kNames{"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf",
                            "/etc/gai.conf"};

constexpr std::chrono::seconds kTrial{20};

}  // namespace

std::vector<std::string> sandbox_arguments(const SandboxView& view) {
  // Root would keep all capabilities, and may remount what is bound read-only with them.
  std::vector<std::string> arguments{"--unshare-all", "--die-with-parent", "--new-session", "--cap-drop",
                                     "ALL",           "--clearenv"};
  const auto add = [&](std::initializer_list<std::string> more) { arguments.insert(arguments.end(), more); };
  const bool has_network = view.network == SandboxNetwork::Host;
  if (has_network) add({"--share-net"});
  add({"--setenv", "PATH", kSandboxSearchPath, "--setenv", "HOME", "/tmp", "--setenv", "LANG", "C.UTF-8"});
  for (const auto& [name, value] : view.environment) add({"--setenv", name, value});
  for (const char* const each : kSystem) add({"--ro-bind-try", each, each});
  if (has_network)
    for (const char* const each : kNames) add({"--ro-bind-try", each, each});
  // The kernel lets root write its settings, such as the program that handles crashes, without a capability.
  add({"--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"});
  if (view.temporary_bytes) add({"--size", fmt::format("{}", *view.temporary_bytes)});
  add({"--tmpfs", "/tmp"});
  for (const SandboxView::Bind& each : view.read_only)
    add({"--ro-bind", each.from.string(), each.to.string()});
  for (const Path& each : view.hidden) add({"--tmpfs", each.string(), "--remount-ro", each.string()});
  for (const SandboxView::Bind& each : view.writable) add({"--bind", each.from.string(), each.to.string()});
  add({"--remount-ro", "/", "--chdir", view.directory.string()});
  return arguments;
}

bool can_limit_tmpfs(ProcessRunner& processes, const Context& context) {
  Command command;
  command.program = kBubblewrap;
  command.arguments = {"--help"};
  const auto help = processes.run(command, context);
  return help.ok() && (help->out + help->err).find("--size ") != std::string::npos;
}

Status check_sandboxes(ProcessRunner& processes, const Context& context) {
  Command command;
  command.program = kBubblewrap;
  command.arguments = sandbox_arguments({});
  command.arguments.emplace_back("true");
  command.environment = BaseEnvironment::Empty;
  command.env = {{"PATH", kSandboxSearchPath}};
  auto ran = processes.run(command, context.with_timeout(kTrial));
  if (!ran.ok() && ran.error().kind == ErrorKind::NotFound)
    return error(ErrorKind::NotFound, "there is no bubblewrap on this machine")
        .with_because("no program bwrap is in PATH")
        .with_hint("install it: apt-get install bubblewrap, or dnf install bubblewrap");
  if (!ran.ok()) return std::move(ran).error();
  if (ran->exit_code == 0) return {};
  return error(ErrorKind::Forbidden, "bubblewrap can't make a sandbox here")
      .with_because(escape_controls(trim(ran->err.empty() ? ran->out : ran->err), true))
      .with_hint("allow this user to make user namespaces, and mounts in them");
}

}  // namespace mist
