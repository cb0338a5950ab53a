#include "registry/docker_config.h"

#include <algorithm>
#include <functional>

#include "base/output_file.h"
#include "base/text.h"
#include "base/url.h"
#include "encoding/json.h"

namespace mist::registry {
namespace {

using encoding::Value;

constexpr std::uint64_t kMaxConfig = std::uint64_t{4} << 20;
// The key of Docker Hub, whatever the host is called (docker/cli, IndexServer).
constexpr std::string_view kHubKey = "https://index.docker.io/v1/";
// The user that a helper gives for an identity token (docker/docker-credential-helpers).
constexpr std::string_view kTokenUser = "<token>";
// The output of helpers that have nothing (docker-credential-helpers, credentials/error.go): their protocol
// has no other sign of it.
constexpr std::string_view kNothingStored = "credentials not found in native keychain";
constexpr std::string_view kPodmanLogout = "podman logout";

bool is_docker_hub(std::string_view host) {
  return host == "docker.io" || host == "index.docker.io" || host == "registry-1.docker.io";
}

std::string key_of(const std::string& host) { return is_docker_hub(host) ? std::string(kHubKey) : host; }

// "https://host/v2/" → "host", as docker/cli's ConvertToHostname: most keys are hosts, not URLs.
std::string_view host_of_key(std::string_view key) {
  for (const std::string_view scheme : {"https://", "http://"})
    if (key.starts_with(scheme))
      return key.substr(scheme.size(), key.find('/', scheme.size()) - scheme.size());
  return key;
}

Error damaged(const Path& file, std::string because) {
  return error(ErrorKind::Invalid, "the credentials in {} can't be read", file.string())
      .with_because(std::move(because))
      .with_hint("correct the file, or move it away and log in again");
}

struct Stored {
  Path file;
  Value document = Value::object();
};

Result<Stored> load(const FileSystem& files, const Path& file) {
  const Result<std::string> text = files.read(file, kMaxConfig);
  if (!text) {
    if (text.error().kind == ErrorKind::NotFound) return Stored{file, Value::object()};
    return text.error();
  }
  if (trim(*text).empty()) return Stored{file, Value::object()};
  // The error's excerpt would be a line of the file.
  Result<Value> document = encoding::parse_json(*text);
  if (!document || !document->is_object())
    return damaged(file, document ? "it is not a JSON object" : escape_controls(document.error().message));
  return Stored{file, *std::move(document)};
}

// The entry for the host in "auths": exactly, or with a scheme and a path that older tools wrote.
const Value::Member* entry_of(const Value& document, const std::string& key) {
  const Value* const auths = document.find("auths");
  if (auths == nullptr || !auths->is_object()) return nullptr;
  const auto find = [&](auto&& matches) -> const Value::Member* {
    const auto found = std::ranges::find_if(auths->as_object(), matches);
    return found == auths->as_object().end() ? nullptr : &*found;
  };
  if (const auto* exact = find([&](const Value::Member& member) { return member.key == key; })) return exact;
  return find([&](const Value::Member& member) {
    return is_url(member.key) && host_of_key(member.key) == host_of_key(key);
  });
}

Result<std::optional<Login>> login_in(const Path& file, const Value::Member& entry) {
  Login login;
  login.user = entry.value.string_at("username");
  login.password = SecretString(std::string(entry.value.string_at("password")));
  login.identity_token = SecretString(std::string(entry.value.string_at("identitytoken")));
  if (const std::string_view encoded = entry.value.string_at("auth"); !encoded.empty()) {
    std::string plain;
    const bool good = base64_decode(encoded, plain);
    const auto colon = plain.find(':');
    if (!good || colon == std::string::npos)
      return damaged(file,
                     fmt::format("\"auth\" of {} is no Base64 of USER:PASSWORD", escape_controls(entry.key)));
    login.user = plain.substr(0, colon);
    std::string password = plain.substr(colon + 1);
    while (password.ends_with('\0')) password.pop_back();  // as docker/cli
    login.password = SecretString(std::move(password));
  }
  // docker login leaves an empty entry beside a helper.
  if (login.password.empty() && login.identity_token.empty()) return std::optional<Login>();
  return std::optional(std::move(login));
}

// The helper for the host; empty: none.
std::string helper_for(const Value& document, const std::string& key) {
  if (const Value* const helpers = document.find("credHelpers"); helpers != nullptr) {
    for (const std::string& name : {key, std::string(host_of_key(key))})
      if (const std::string_view helper = helpers->string_at(name); !helper.empty())
        return std::string(helper);
  }
  return std::string(document.string_at("credsStore"));
}

bool is_helper_name(std::string_view name) {
  return !name.starts_with('-') && name.find_first_not_of(
                                       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789-_.") == std::string_view::npos;
}

std::string helper_program(std::string_view helper) { return fmt::format("docker-credential-{}", helper); }

struct HelperCall {
  std::string helper;
  std::string verb;   ///< "get", "store", "erase"
  std::string input;  ///< may hold a password: never shown
  Path file;          ///< that names the helper
};

// The first line of what a failed helper printed, which may be the credentials all the same.
std::string shown_words(std::string_view words) {
  if (words.find('{') != std::string_view::npos || words.find("Secret") != std::string_view::npos)
    return "its output is not shown, because there may be a password in it";
  return escape_controls(words.substr(0, std::min<std::size_t>(words.find('\n'), 300)));
}

// The helper's output; nothing: it has no such credentials.
Result<std::optional<std::string>> run(ProcessRunner& processes, const HelperCall& call,
                                       const Context& context) {
  if (!is_helper_name(call.helper))
    return damaged(call.file, fmt::format("'{}' is not a helper's name", escape_controls(call.helper)));
  Command command;
  command.program = helper_program(call.helper);
  command.arguments = {call.verb};
  command.input = call.input;
  const Result<ProcessResult> ran = processes.run(command, context);
  if (!ran) {
    Error failure = ran.error();
    if (failure.kind == ErrorKind::NotFound)
      failure.hint =
          fmt::format("{} names it: install it, or remove it there and log in again", call.file.string());
    return std::move(failure).with_frame(fmt::format("while running {} {}", command.program, call.verb));
  }
  if (ran->exit_code == 0) return std::optional(ran->out);
  // Helpers print errors on stdout.
  const std::string_view words = trim(ran->out.empty() ? ran->err : ran->out);
  if (words.find(kNothingStored) != std::string_view::npos) return std::optional<std::string>();
  return error(ErrorKind::Internal, "{} {} failed with exit code {}", command.program, call.verb,
               ran->exit_code)
      .with_because(shown_words(words))
      .with_hint(fmt::format("{} names it as the keeper of credentials", call.file.string()));
}

Result<std::optional<Login>> ask_helper(ProcessRunner& processes, const std::string& helper,
                                        const std::string& key, const Path& file, const Context& context) {
  MIST_TRY(const std::optional<std::string> answer, run(processes, {helper, "get", key, file}, context));
  if (!answer) return std::optional<Login>();
  const Result<Value> document = encoding::parse_json(*answer);
  if (!document || document->string_at("Secret").empty())
    return error(ErrorKind::Internal, "docker-credential-{} get gave no credentials", helper)
        .with_hint(fmt::format("{} names it as the keeper of credentials", file.string()));
  const std::string user(document->string_at("Username"));
  SecretString secret{std::string(document->string_at("Secret"))};
  if (user == kTokenUser)
    return std::optional(Login{.user = user, .password = {}, .identity_token = std::move(secret)});
  return std::optional(Login{.user = user, .password = std::move(secret)});
}

struct FoundLogin {
  Login login;
  std::string place;  ///< a file, or a helper's name
};

// Of one file: by its helper, then host/team/shop, host/team, host.
Result<std::optional<FoundLogin>> find_in_file(const DockerConfig::Dependencies& dependencies,
                                               const Path& file, const std::string& host,
                                               const std::string& path, const Context& context) {
  const std::string key = key_of(host);
  MIST_TRY(const Stored stored, load(dependencies.files, file));
  if (const std::string helper = helper_for(stored.document, key); !helper.empty()) {
    MIST_TRY(std::optional<Login> login, ask_helper(dependencies.processes, helper, key, file, context));
    if (login) return std::optional(FoundLogin{*std::move(login), helper_program(helper)});
  }
  std::vector<std::string> names;
  for (std::string part = fmt::format("{}/{}", host, path); part.size() > host.size();
       part.resize(part.rfind('/')))
    names.push_back(part);
  names.push_back(key);
  for (const std::string& name : names) {
    const Value::Member* const entry = entry_of(stored.document, name);
    if (entry == nullptr) continue;
    MIST_TRY(std::optional<Login> login, login_in(file, *entry));
    if (login) return std::optional(FoundLogin{*std::move(login), file.string()});
  }
  return std::optional<FoundLogin>();
}

// "host/team", which Podman may have a login for.
Result<std::optional<std::string>> part_with_login(const FileSystem& files, const Path& file,
                                                   const std::string& host) {
  MIST_TRY(const Stored stored, load(files, file));
  const Value* const auths = stored.document.find("auths");
  if (auths == nullptr || !auths->is_object()) return std::optional<std::string>();
  for (const Value::Member& each : auths->as_object()) {
    // One that ends with a slash is of no repository, and is never sent.
    if (!each.key.starts_with(host + "/") || each.key.ends_with('/')) continue;
    MIST_TRY(const std::optional<Login> login, login_in(file, each));
    if (login) return std::optional(each.key);
  }
  return std::optional<std::string>();
}

// Reads, changes and writes the file while other processes of ours that change it wait, so that none of them
// writes what it read before. A link to the file stays one.
Status change_file(FileSystem& files, const Path& file, const Context& context,
                   const std::function<void(Value& document)>& change) {
  MIST_TRY(const Path target, link_target(file));
  MIST_TRY_VOID(files.make_directories(target.parent_path(), 0700));
  Path lock_path = target;
  lock_path += ".lock";
  MIST_TRY([[maybe_unused]] const FileLock lock, FileLock::acquire(lock_path, context));
  const auto changed = [&]() -> Status {
    MIST_TRY(Stored stored, load(files, file));
    change(stored.document);
    return files.write(target, encoding::to_json(stored.document, encoding::JsonStyle::Pretty) + '\n',
                       {.mode = 0600});
  };
  Status done = changed();
  // Processes that wait for it lock the next one.
  const Status removed = files.remove(lock_path);
  return done ? removed : std::move(done);
}

}  // namespace

std::vector<DockerConfig::CredentialFile> DockerConfig::credential_files() const {
  const auto value = [&](std::string_view name) { return dependencies_.environment(name).value_or(""); };
  const std::string home = value("HOME");
  std::vector<CredentialFile> found;
  std::string_view logout;
  const auto add = [&](const std::string& base, std::string_view rest) {
    if (!base.empty()) found.push_back({Path(base) / rest, logout});
    return !base.empty();
  };
  if (const std::string file = value("REGISTRY_AUTH_FILE"); !file.empty()) {
    found.push_back({file, kPodmanLogout});
  } else {
    logout = "docker logout";
    if (!add(value("DOCKER_CONFIG"), "config.json")) add(home, ".docker/config.json");
  }
  logout = "helm registry logout";
  if (const std::string file = value("HELM_REGISTRY_CONFIG"); !file.empty())
    found.push_back({file, logout});
  else if (!add(value("HELM_CONFIG_HOME"), "registry/config.json") &&
           !add(value("XDG_CONFIG_HOME"), "helm/registry/config.json"))
    add(home, ".config/helm/registry/config.json");
  logout = kPodmanLogout;
  add(value("XDG_RUNTIME_DIR"), "containers/auth.json");
  return found;
}

std::vector<Path> DockerConfig::files() const {
  std::vector<Path> found;
  for (const CredentialFile& each : credential_files()) found.push_back(each.file);
  return found;
}

Result<std::optional<Login>> DockerConfig::find(const std::string& host, const std::string& path,
                                                const Context& context) const {
  for (const Path& file : files()) {
    MIST_TRY(std::optional<FoundLogin> found, find_in_file(dependencies_, file, host, path, context));
    if (found) return std::optional(std::move(found->login));
  }
  return std::optional<Login>();
}

Result<std::optional<KeptLogin>> DockerConfig::kept(const std::string& host, const Context& context) const {
  for (const CredentialFile& each : credential_files()) {
    MIST_TRY(const std::optional<FoundLogin> found,
             find_in_file(dependencies_, each.file, host, {}, context));
    if (found) return std::optional(KeptLogin{host, found->place, fmt::format("{} {}", each.logout, host)});
    MIST_TRY(const std::optional<std::string> part, part_with_login(dependencies_.files, each.file, host));
    if (part) return std::optional(KeptLogin{*part, each.file.string(), {}});
  }
  return std::optional<KeptLogin>();
}

Result<std::string> DockerConfig::store(const std::string& host, const Login& login,
                                        const Context& context) const {
  const std::vector<Path> places = files();
  if (places.empty())
    return error(ErrorKind::Invalid, "there is no place for credentials: HOME isn't set")
        .with_hint("set HOME, DOCKER_CONFIG or REGISTRY_AUTH_FILE");
  MIST_TRY(const Stored stored, load(dependencies_.files, places.front()));
  const std::string key = key_of(host);
  if (const std::string helper = helper_for(stored.document, key); !helper.empty()) {
    const Value credentials =
        Value::object({{"ServerURL", key}, {"Username", login.user}, {"Secret", login.password.reveal()}});
    MIST_TRY(const auto done, run(dependencies_.processes,
                                  {helper, "store", encoding::to_json(credentials), stored.file}, context));
    (void)done;
    return helper_program(helper);
  }
  MIST_TRY_VOID(change_file(dependencies_.files, stored.file, context, [&](Value& document) {
    Value& auths = document["auths"];
    if (!auths.is_object()) auths = Value::object();
    auths.set(key, Value::object(
                       {{"auth", base64_encode(fmt::format("{}:{}", login.user, login.password.reveal()))}}));
  }));
  return stored.file.string();
}

Result<std::optional<std::string>> DockerConfig::erase(const std::string& host,
                                                       const Context& context) const {
  const std::vector<Path> places = files();
  if (places.empty()) return std::optional<std::string>();
  MIST_TRY(const Stored stored, load(dependencies_.files, places.front()));
  const std::string key = key_of(host);
  std::optional<std::string> place;
  if (const std::string helper = helper_for(stored.document, key); !helper.empty()) {
    MIST_TRY(const std::optional<Login> there,
             ask_helper(dependencies_.processes, helper, key, stored.file, context));
    if (there) {
      MIST_TRY(const auto done, run(dependencies_.processes, {helper, "erase", key, stored.file}, context));
      (void)done;
      place = helper_program(helper);
    }
  }
  if (entry_of(stored.document, key) == nullptr) return place;
  MIST_TRY_VOID(change_file(dependencies_.files, stored.file, context, [&](Value& document) {
    // Older tools wrote other keys for the same host.
    for (const Value::Member* entry = nullptr; (entry = entry_of(document, key)) != nullptr;) {
      const std::string found = entry->key;
      document["auths"].erase(found);
    }
  }));
  return std::optional(stored.file.string());
}

}  // namespace mist::registry
