#include "base/bubblewrap.h"

#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <iterator>

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

// A process that shares our session keyring or user id can read keys of ours, such as Kerberos tickets and
// passphrases of file systems. seccomp(2): a program of classic BPF over struct seccomp_data; the calls fail
// as in a kernel without keys, and so does every call of another architecture's numbers, which would be
// others'.
#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
constexpr std::uint32_t kForeignCalls = 0x40000000;  // of x32
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
constexpr std::uint32_t kForeignCalls = 0xffffffff;
#else
#error "name this architecture's AUDIT_ARCH"
#endif

std::string call_filter() {
  constexpr std::uint32_t kRefused = SECCOMP_RET_ERRNO | ENOSYS;
  constexpr std::array<sock_filter, 10> kProgram{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, kRefused),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kForeignCalls, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_add_key, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_request_key, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_keyctl, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, kRefused),
  }};
  return {reinterpret_cast<const char*>(kProgram.data()), sizeof(kProgram)};
}

std::vector<std::string> arguments_of(const SandboxView& view) {
  // Root would keep all capabilities, and may remount what is bound read-only with them.
  std::vector<std::string> arguments{"--unshare-all", "--die-with-parent", "--new-session", "--cap-drop",
                                     "ALL",           "--clearenv",        "--seccomp",     "3"};
  const auto add = [&](std::initializer_list<std::string> more) { arguments.insert(arguments.end(), more); };
  const bool has_network = view.network == SandboxNetwork::Host;
  if (has_network) add({"--share-net"});
  add({"--setenv", "PATH", kSandboxSearchPath, "--setenv", "HOME", "/tmp", "--setenv", "LANG", "C.UTF-8"});
  for (const auto& [name, value] : view.environment) add({"--setenv", name, value});
  for (const char* const each : kSystem) add({"--ro-bind-try", each, each});
  if (has_network)
    for (const char* const each : kNames) add({"--ro-bind-try", each, each});
  // The kernel lets root write its settings, such as the program that handles crashes, without a capability.
  add({"--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"});
  // Its files, those of /dev/shm among them, would be bounded by nothing.
  add({"--dev", "/dev", "--remount-ro", "/dev"});
  if (view.temporary_bytes) add({"--size", fmt::format("{}", *view.temporary_bytes)});
  add({"--tmpfs", "/tmp"});
  for (const SandboxView::Bind& each : view.read_only)
    add({"--ro-bind", each.from.string(), each.to.string()});
  for (const Path& each : view.hidden) add({"--tmpfs", each.string(), "--remount-ro", each.string()});
  for (const SandboxView::Bind& each : view.writable) add({"--bind", each.from.string(), each.to.string()});
  add({"--remount-ro", "/", "--chdir", view.directory.string()});
  return arguments;
}

}  // namespace

Command sandboxed(const SandboxView& view, std::vector<std::string> program) {
  Command command;
  command.program = kBubblewrap;
  command.arguments = arguments_of(view);
  std::ranges::move(program, std::back_inserter(command.arguments));
  command.environment = BaseEnvironment::Empty;
  command.env = {{"PATH", kSandboxSearchPath}};
  command.third = call_filter();
  return command;
}

bool can_limit_tmpfs(ProcessRunner& processes, const Context& context) {
  Command command;
  command.program = kBubblewrap;
  command.arguments = {"--help"};
  const auto help = processes.run(command, context);
  return help.ok() && (help->out + help->err).find("--size ") != std::string::npos;
}

Status check_sandboxes(ProcessRunner& processes, const Context& context) {
  auto ran = processes.run(sandboxed({}, {"true"}), context.with_timeout(kTrial));
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
