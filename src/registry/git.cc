#include "registry/git.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <span>

#include "base/text.h"
#include "config/redact.h"

namespace mist::registry {
namespace {

// Settings of every call. The user's settings for credentials, proxies and ssh stay in force.
constexpr std::array<std::string_view, 14> kSettings{
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.symlinks=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "fetch.writeCommitGraph=false",
    // All that a fetch brings is one file, which has a limit; else few objects would be a file each.
    "fetch.unpackLimit=1",
    "pack.writeReverseIndex=false",
    "credential.interactive=false",
    "advice.detachedHead=false",
    // A connection that delivers nothing for half a minute is dead.
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=30",
};

// A git hook that runs mistctl would otherwise point us at its own repository; traces would put
// Authorization headers into messages.
constexpr std::array<std::string_view, 18> kRemovedVariables{
    "GIT_DIR",         "GIT_WORK_TREE",    "GIT_INDEX_FILE",   "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",  "GIT_NAMESPACE",    "GIT_SHALLOW_FILE", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_GRAFT_FILE",  "GIT_CONFIG",       "GIT_PREFIX",       "GIT_REPLACE_REF_BASE",
    "GIT_TRACE",       "GIT_TRACE_PACKET", "GIT_TRACE_CURL",   "GIT_CURL_VERBOSE",
    "GIT_TRACE_SETUP", "LANGUAGE",
};

// Asks nobody, in the place of the user's own program, when git or ssh would ask a person.
constexpr std::string_view kAskNobody = "/bin/false";

// The user may rewrite https to ssh and back (url.<base>.insteadOf); nothing may become a file or a helper.
std::string allowed_protocols(const GitUrl* remote) {
  if (remote == nullptr) return "none";
  switch (remote->transport()) {
    case GitUrl::Transport::File:
      return "file";
    case GitUrl::Transport::LoopbackHttp:
      return "http";
    case GitUrl::Transport::Https:
    case GitUrl::Transport::Ssh:
      return remote->public_only() ? "https" : "https:ssh";
  }
  return "none";
}

Command command_for(const GitCall& call, std::uint64_t largest_pack) {
  Command command;
  command.program = "git";
  for (const std::string_view setting : kSettings) {
    command.arguments.emplace_back("-c");
    command.arguments.emplace_back(setting);
  }
  const auto add_settings = [&](const std::vector<std::string>& settings) {
    for (const std::string& setting : settings) {
      command.arguments.emplace_back("-c");
      command.arguments.push_back(setting);
    }
  };
  add_settings(call.settings);
  if (call.remote != nullptr) add_settings(call.remote->settings());
  // Never the repository that the current directory may be in, or look like: its settings name programs that
  // git runs, and it may be an unpacked package. /dev/null is none, and git looks for no other.
  command.arguments.push_back(
      fmt::format("--git-dir={}", call.repository.empty() ? "/dev/null" : call.repository.string()));
  command.arguments.insert(command.arguments.end(), call.arguments.begin(), call.arguments.end());
  for (const std::string_view name : kRemovedVariables) command.env.emplace(name, std::nullopt);
  command.env["LC_ALL"] = "C";  // git_failure reads English
  // Overrides every protocol.* setting of the user, ext::'s included.
  command.env["GIT_ALLOW_PROTOCOL"] = allowed_protocols(call.remote);
  command.env["GIT_TERMINAL_PROMPT"] = "0";
  command.env["GIT_NO_REPLACE_OBJECTS"] = "1";
  command.env["GIT_LFS_SKIP_SMUDGE"] = "1";
  // Credentials, proxies and ssh are the user's business with remotes; what is here needs no settings but
  // ours.
  if (call.remote == nullptr) {
    command.env["GIT_CONFIG_NOSYSTEM"] = "1";
    command.env["GIT_CONFIG_GLOBAL"] = "/dev/null";
    command.env["GIT_CONFIG_SYSTEM"] = "/dev/null";
    command.env.emplace("GIT_CONFIG_COUNT", std::nullopt);
    command.env.emplace("GIT_CONFIG_PARAMETERS", std::nullopt);
  }
  // ssh would stop for ever at a question on the terminal: it is in a process group of the background.
  command.env["SSH_ASKPASS_REQUIRE"] = "force";
  if (std::getenv("SSH_ASKPASS") == nullptr) command.env["SSH_ASKPASS"] = std::string(kAskNobody);
  command.input = call.input;
  command.output_limit = call.output_limit;
  // The sender of a pack decides how large it is, and whether it ends.
  if (call.remote != nullptr)
    command.file_limit = std::min(largest_pack, call.file_limit.value_or(largest_pack));
  return command;
}

struct Symptom {
  std::string_view text;
  ErrorKind kind;
  std::string_view hint;
  bool too_large = false;
};

constexpr std::string_view kCheckCredentials =
    "check that `git ls-remote <url>` works on this machine: a credential helper, a token or an ssh key may "
    "be "
    "missing, or the repository may not exist";
constexpr std::string_view kCheckNetwork = "check the network and the proxy, then try again";
constexpr std::string_view kTooLarge =
    "what is fetched of one commit is larger than it may be (4 GiB; in a catalog 512 MiB; three eighths of "
    "MIST_CACHE_LIMIT), or takes too much processor time: use a smaller repository, or clone it and name the "
    "directory";
constexpr std::string_view kTooMuchWork =
    "git needs more processor time or memory for it than it may have: use a repository with fewer and "
    "smaller "
    "files";
constexpr std::string_view kCheckUrl =
    "check the address: git ls-remote <url> shows whether a repository is there";

// The first that occurs wins, so the special ones precede the general.
constexpr std::array kSymptoms{
    Symptom{"Host key verification failed", ErrorKind::Forbidden,
            "connect once with ssh to accept the host's key, then try again"},
    Symptom{"Authentication failed", ErrorKind::Forbidden, kCheckCredentials},
    Symptom{"could not read Username", ErrorKind::Forbidden, kCheckCredentials},
    Symptom{"could not read Password", ErrorKind::Forbidden, kCheckCredentials},
    Symptom{"Permission denied", ErrorKind::Forbidden, kCheckCredentials},
    Symptom{"returned error: 401", ErrorKind::Forbidden, kCheckCredentials},
    Symptom{"returned error: 403", ErrorKind::Forbidden, kCheckCredentials},
    Symptom{"dubious ownership", ErrorKind::Forbidden,
            "the repository belongs to another user; allow it with git config --global --add safe.directory "
            "<path>"},
    Symptom{"not allowed", ErrorKind::Invalid, "use an https, ssh or file address"},
    Symptom{"server certificate", ErrorKind::Forbidden,
            "check the certificate of the server, or git's http.sslCAInfo"},
    Symptom{"SSL certificate problem", ErrorKind::Forbidden,
            "check the certificate of the server, or git's http.sslCAInfo"},
    Symptom{"Could not resolve host", ErrorKind::Retryable, kCheckNetwork},
    Symptom{"Failed to connect", ErrorKind::Retryable, kCheckNetwork},
    Symptom{"Couldn't connect", ErrorKind::Retryable, kCheckNetwork},
    Symptom{"Connection refused", ErrorKind::Retryable, kCheckNetwork},
    Symptom{"Connection reset", ErrorKind::Retryable, kCheckNetwork},
    Symptom{"timed out", ErrorKind::Retryable, kCheckNetwork},
    Symptom{"Operation too slow", ErrorKind::Retryable, kCheckNetwork},
    Symptom{"early EOF", ErrorKind::Retryable, kCheckNetwork},
    Symptom{"unexpected disconnect", ErrorKind::Retryable, kCheckNetwork},
    Symptom{"hung up unexpectedly", ErrorKind::Retryable, kCheckNetwork},
    Symptom{"returned error: 30", ErrorKind::Invalid,
            "the server sends us to another address, and what a package names may not: name the repository's "
            "own address, often the same with .git at its end"},
    Symptom{"returned error: 5", ErrorKind::Retryable, "the server has a fault; try again later"},
    Symptom{"returned error: 429", ErrorKind::Retryable, "the server asks to slow down; try again later"},
    Symptom{"died of signal 25", ErrorKind::Invalid, kTooLarge, true},
    Symptom{"died of signal 24", ErrorKind::Invalid, kTooMuchWork},
    // Perhaps the machine's memory, now: it may work later.
    Symptom{"ut of memory", ErrorKind::Internal, kTooMuchWork},
    Symptom{"Cannot allocate memory", ErrorKind::Internal, kTooMuchWork},
    Symptom{"No space left", ErrorKind::Retryable, "free some disk space, then try again"},
    Symptom{"does not appear to be a git repository", ErrorKind::NotFound, kCheckUrl},
    Symptom{"Repository not found", ErrorKind::NotFound, kCheckCredentials},
    Symptom{"repository not found", ErrorKind::NotFound, kCheckCredentials},
    Symptom{"' not found", ErrorKind::NotFound, kCheckUrl},
    Symptom{"does not exist", ErrorKind::NotFound, kCheckUrl},
    Symptom{"couldn't find remote ref", ErrorKind::NotFound, "check the name of the branch or tag"},
    Symptom{"not our ref", ErrorKind::NotFound, "the repository has no such commit, or doesn't give it out"},
    // Says no more where a signal ended it: that of its limits. Or the pack is damaged.
    Symptom{"invalid index-pack output", ErrorKind::Invalid, kTooLarge, true},
};

// The first git that knows http.curloptResolve.
constexpr std::pair kKeepsAddresses{2, 37};

// Of "git version 2.39.5 (Apple Git-154)"; what isn't one is older than all.
std::pair<int, int> git_version_in(std::string_view text) {
  constexpr std::string_view kBefore = "git version ";
  std::pair<int, int> version{0, 0};
  if (!text.starts_with(kBefore)) return version;
  text.remove_prefix(kBefore.size());
  const char* const end = text.data() + text.size();
  const auto [dot, failed] = std::from_chars(text.data(), end, version.first);
  if (failed == std::errc() && dot != end && *dot == '.') std::from_chars(dot + 1, end, version.second);
  return version;
}

// The end of what git said: its reason stands last.
std::string safe_messages(std::string_view messages) {
  constexpr std::size_t kMost = 2000;
  std::string text = config::redact_urls(messages);
  // About ourselves; that nobody could be asked stands in the next line.
  const std::string about_us = fmt::format("error: unable to read askpass response from '{}'\n", kAskNobody);
  if (const std::size_t at = text.find(about_us); at != std::string::npos) text.erase(at, about_us.size());
  if (text.size() > kMost) text = "…" + text.substr(text.size() - kMost);
  return std::string(trim(escape_controls(text, true)));
}

}  // namespace

Error git_failure(std::string_view what, std::string_view messages) {
  Error failure = error(ErrorKind::Internal, "git could not {}", what);
  failure.because = safe_messages(messages);
  const auto symptom = std::ranges::find_if(kSymptoms, [&](const Symptom& candidate) {
    return messages.find(candidate.text) != std::string_view::npos;
  });
  if (symptom != kSymptoms.end()) {
    failure.kind = symptom->kind;
    failure.hint = symptom->hint;
    if (symptom->too_large) failure.details.set(FetchTooLarge{});
  }
  return failure;
}

Error fetch_too_large(const GitUrl& remote) {
  return error(ErrorKind::Invalid, "what git fetched from {} is too large", remote.display())
      .with_hint(std::string(kTooLarge))
      .with_detail(FetchTooLarge{});
}

Status check_git_keeps_addresses(ProcessRunner& processes, const Context& context) {
  MIST_TRY(const std::string said,
           Git(processes).run({.arguments = {"version"}, .repository = {}, .input = {}}, context));
  if (git_version_in(said) >= kKeepsAddresses) return {};
  return error(ErrorKind::Forbidden, "the git of this machine is too old for repositories of strangers")
      .with_because(fmt::format("{} would look up a host's name again, and may get an address of a private "
                                "network",
                                escape_controls(trim(said))))
      .with_hint("install git 2.37 or newer");
}

Result<std::string> Git::run(const GitCall& call, const Context& context) const {
  MIST_CHECK(!call.arguments.empty());
  if (call.remote != nullptr && call.remote->public_only())
    MIST_TRY_VOID(check_git_keeps_addresses(processes_, context));
  Result<ProcessResult> result = processes_.run(command_for(call, limits_.largest_pack), context);
  const std::string what = call.remote != nullptr
                               ? fmt::format("{} from {}", call.arguments.front(), call.remote->display())
                               : fmt::format("do {} in {}", call.arguments.front(), call.repository.string());
  if (!result) {
    Error failure = std::move(result).error();
    if (failure.kind == ErrorKind::Timeout && failure.hint.empty())
      failure.hint = "the remote didn't answer in time: check the network, or allow more time";
    return std::move(failure).with_frame(fmt::format("while letting git {}", what));
  }
  if (result->exit_code == 0) return std::move(result->out);
  // Its parent is told of a child that ends so in the same words.
  if (const int signal = result->exit_code - 128; signal == SIGXCPU || signal == SIGXFSZ)
    return git_failure(what, fmt::format("{}git died of signal {}", result->err, signal));
  return git_failure(what,
                     result->err.empty() ? fmt::format("exit code {}", result->exit_code) : result->err);
}

}  // namespace mist::registry
