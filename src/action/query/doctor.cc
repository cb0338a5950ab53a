#include "action/query/doctor.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>

#include "base/file_facts.h"
#include "base/parallel.h"
#include "base/text.h"
#include "config/config.h"
#include "registry/git.h"
#include "registry/git_url.h"
#include "registry/mirror_settings.h"
#include "registry/oci_trust.h"
#include "wasm/runtime.h"

namespace mist::action {
namespace {

using encoding::Value;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kRegistryLimit = seconds(10);
constexpr auto kClusterLimit = seconds(10);
constexpr auto kSlowServer = milliseconds(500);
constexpr auto kSomeSkew = seconds(5);
constexpr auto kMuchSkew = std::chrono::minutes(5);
constexpr std::uint64_t kLittleRoom = std::uint64_t{200} << 20;
constexpr std::uint64_t kNoRoom = std::uint64_t{10} << 20;
// Server-side apply with field ownership as we rely on it. Tests run on the Kubernetes of devcluster/go.mod.
constexpr int kOldestMinor = 26;
constexpr std::size_t kQuestionsAtOnce = 8;
constexpr std::string_view kAskAgain = "ask again; if it stays so, an administrator of the cluster";

// Keeps warnings as sentences.
class Listener final : public EventSink {
 public:
  std::vector<std::string> warnings;
  void message(const Message& event) override {
    if (event.level == EventLevel::Warning) warnings.push_back(event.text);
  }
  void began(const ActivityBegan&) override {}
  void ended(const ActivityEnded&) override {}
  void object(const ObjectProgress&) override {}
  bool shows(EventLevel level) const override { return level == EventLevel::Warning; }
};

// An error in one line, and what to do about it: `otherwise`, where the error doesn't tell.
Check failed(std::string area, std::string name, const Error& error, std::string_view otherwise,
             CheckState state = CheckState::Fail) {
  std::string detail = error.message;
  if (!error.because.empty()) detail += fmt::format(": {}", error.because);
  if (error.where && error.where->line != 0)
    detail = fmt::format("{}:{}: {}", error.where->file, error.where->line, detail);
  return {std::move(area), std::move(name), state, std::move(detail),
          error.hint.empty() ? std::string(otherwise) : error.hint};
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1024 * 1024) return fmt::format("{} KiB", (bytes + 1023) / 1024);
  if (bytes < std::uint64_t{10} << 30) return fmt::format("{} MiB", bytes >> 20);
  return fmt::format("{} GiB", bytes >> 30);
}

Check check_config_file(const DoctorDependencies& dependencies) {
  const Path& path = dependencies.paths.config_file;
  Check check{"configuration", "file", CheckState::Ok, {}};
  if (!dependencies.files.exists(path)) {
    check.detail = fmt::format("{} does not exist: the default registry is used", path.string());
    return check;
  }
  Listener listener;
  const auto config = config::Config::load(dependencies.files, dependencies.paths, listener);
  const std::string fix = fmt::format("fix {}; its format: mistctl help config", path.string());
  if (!config.ok()) return failed(check.area, check.name, config.error(), fix);
  check.detail = fmt::format("{}: {}", path.string(),
                             config->registries().size() == 1
                                 ? "1 registry"
                                 : fmt::format("{} registries", config->registries().size()));
  const auto facts = file_facts(path);
  if (facts && (facts->mode & 022) != 0) {
    check.state = CheckState::Fail;
    check.detail += fmt::format(", but others may write it (mode {:04o})", facts->mode);
    check.hint = fmt::format("chmod 600 {}", path.string());
  } else if (facts && (facts->mode & 044) != 0 && config->has_credentials()) {
    check.state = CheckState::Warn;
    check.detail += fmt::format(", with credentials that others may read (mode {:04o})", facts->mode);
    check.hint = fmt::format("chmod 600 {}", path.string());
  } else if (!listener.warnings.empty()) {
    check.state = CheckState::Warn;
    check.detail = join(listener.warnings, "; ");
    check.hint = fix;
  }
  return check;
}

Check check_seed(const DoctorDependencies& dependencies) {
  const Path path = dependencies.paths.seed_file();
  Check check{"configuration", "seed", CheckState::Ok, {}};
  const auto facts = file_facts(path);
  if (!facts) {
    check.detail = "not drawn yet: the first render outside a cluster makes it";
  } else if (!facts->ours || (facts->mode & 077) != 0) {
    check.state = CheckState::Fail;
    check.detail = facts->ours ? fmt::format(
                                     "{}: others may read it (mode {:04o}), and with it every secret "
                                     "that generate drew",
                                     path.string(), facts->mode)
                               : fmt::format("{} belongs to somebody else", path.string());
    check.hint = facts->ours ? fmt::format("chmod 600 {}", path.string()) : "use your own home directory";
  } else {
    check.detail = path.string();
  }
  return check;
}

Check check_trust_policy(const DoctorDependencies& dependencies) {
  const Path path = dependencies.paths.trust_policy();
  const auto policy = registry::load_trust_policy(dependencies.files, dependencies.paths);
  if (!policy.ok())
    return failed(
        "configuration", "trust policy", policy.error(),
        fmt::format("fix {}; until then no package is used but those in local directories", path.string()));
  if (!dependencies.files.exists(path))
    return {"configuration", "trust policy", CheckState::Ok,
            fmt::format("{} does not exist: the defaults count", path.string())};
  const Status keyrings = dependencies.check_provenance
                              ? registry::check_keyrings(*policy, dependencies.check_provenance,
                                                         dependencies.clock.now(), Context())
                              : Status();
  if (!keyrings)
    return failed("configuration", "trust policy", keyrings.error(),
                  "until then no chart that the rule is for can be used");
  return {"configuration", "trust policy", CheckState::Ok,
          fmt::format("{}: {}", path.string(), plural(policy->rules().size(), "rule"))};
}

// nullopt: all of its directories and archives are there. Its registries aren't asked.
std::optional<Check> check_mirror(const DoctorDependencies& dependencies, EventSink& events,
                                  const config::Mirror& mirror) {
  const registry::MirrorSettings settings(
      {dependencies.files, events, dependencies.paths, dependencies.paths.config_file.parent_path()});
  std::vector<std::string> missing;
  for (const registry::OciPlace& place : settings.missing_layouts(mirror))
    missing.push_back(place.path.string());
  if (missing.empty()) return std::nullopt;
  const bool is_lost = mirror.only && missing.size() == mirror.places.size();
  return Check{"registries", fmt::format("mirror of {}", mirror.prefix),
               is_lost ? CheckState::Fail : CheckState::Warn,
               fmt::format("not there: {}{}", join(missing, ", "),
                           is_lost ? ", and the registry itself is never asked" : ""),
               fmt::format("mount or copy it, or mistctl registry mirror remove {} PLACE", mirror.prefix)};
}

// nullopt: there is none yet, which isn't worth a line.
std::optional<Check> check_cache(const std::string& name, const Path& path) {
  Check check{"caches", name, CheckState::Ok, {}};
  const auto facts = file_facts(path);
  if (!facts) return std::nullopt;
  const TreeSize size = tree_size(path);
  check.detail =
      fmt::format("{} in {}, {}", bytes_text(size.bytes), plural(size.files, "file"), path.string());
  check.state = CheckState::Warn;
  if (!facts->is_directory) {
    check.detail = fmt::format("{} is not a directory", path.string());
    check.hint = "remove it; it is recreated";
  } else if (!facts->ours) {
    check.detail += ", which belongs to somebody else, so it isn't used";
    check.hint = "remove it; it is recreated";
  } else if ((facts->mode & 022) != 0) {
    check.detail += fmt::format(", into which others may write (mode {:04o})", facts->mode);
    check.hint = fmt::format("rm -r {0}: it is recreated; or chmod 700 {0}", path.string());
  } else if (!may_write_into(path)) {
    check.detail += ", which can't be written";
    check.hint = fmt::format("chmod 700 {}", path.string());
  } else {
    check.state = CheckState::Ok;
  }
  return check;
}

Check check_room(const Path& path) {
  Check check{"caches", "room", CheckState::Ok, {}};
  const auto room = free_space(path);
  if (!room) {
    check.state = CheckState::Skipped;
    check.detail = "the system doesn't say";
    return check;
  }
  check.detail = fmt::format("{} free at {}", bytes_text(*room), path.string());
  if (*room >= kLittleRoom) return check;
  check.state = *room < kNoRoom ? CheckState::Fail : CheckState::Warn;
  check.hint = "make room: without it packages are fetched and compiled each time";
  return check;
}

Check check_engines(const DoctorDependencies& dependencies) {
  const package::EngineStore store(dependencies.paths.engines, dependencies.engines);
  std::vector<std::string> missing;
  for (const package::EngineDigest& engine : dependencies.engines) {
    if (!dependencies.files.exists(store.file(engine.name))) missing.emplace_back(engine.name);
  }
  const std::string place = dependencies.paths.engines.string();
  if (missing.empty())
    return {"sandbox", "engines", CheckState::Ok,
            fmt::format("{} in {}", dependencies.engines.size(), place)};
  return {"sandbox", "engines", CheckState::Warn,
          fmt::format("not in {}: {}, so what they render can't be installed", place, join(missing, ", ")),
          "install mistctl with make install, which puts them there, or set MIST_ENGINES_LOCATION to where "
          "they are"};
}

Check check_git(const DoctorDependencies& dependencies, const Context& context, bool needed) {
  const auto version = registry::Git(dependencies.processes)
                           .run({.arguments = {"version"}, .repository = {}, .input = {}},
                                context.with_timeout(kRegistryLimit));
  if (version.ok()) return {"registries", "git", CheckState::Ok, std::string(trim(*version))};
  return failed("registries", "git", version.error(),
                "install git: packages are fetched from registries with it",
                needed ? CheckState::Fail : CheckState::Warn);
}

Check check_registry(const DoctorDependencies& dependencies, const config::Registry& registry,
                     std::span<const config::Mirror> mirrors, Network network, const Context& context) {
  const config::Remote& remote = registry.remote();
  const Path base = dependencies.paths.config_file.parent_path();
  if (const auto* directory = std::get_if<config::DirectorySource>(&remote.source)) {
    const Path path = (base / directory->path).lexically_normal();
    if (dependencies.files.is_directory(path))
      return {"registries", registry.name, CheckState::Ok, path.string()};
    return {"registries", registry.name, CheckState::Fail,
            fmt::format("{} is not a directory", path.string()),
            fmt::format("make it, or mistctl registry remove {}", registry.name)};
  }
  if (!std::holds_alternative<config::GitSource>(remote.source))
    return {"registries", registry.name, CheckState::Skipped,
            fmt::format("{}: not asked", config::display(remote))};
  const auto url = registry::GitUrl::parse(std::get<config::GitSource>(remote.source).url, base);
  const std::string forget = fmt::format("mistctl registry remove {} forgets it", registry.name);
  if (!url.ok()) return failed("registries", registry.name, url.error(), forget);
  if (network == Network::Offline)
    return {"registries", registry.name, CheckState::Skipped, fmt::format("{}: not asked", url->display())};
  if (registry::is_left_to_mirrors(mirrors, url->text()))
    return {"registries", registry.name, CheckState::Skipped,
            fmt::format("{}: not asked, since only its mirrors may be", url->display())};
  const SteadyTime began = dependencies.clock.steady_now();
  const auto answer = registry::Git(dependencies.processes)
                          .run({.arguments = {"ls-remote", "--quiet", "--", url->text(), "HEAD"},
                                .repository = {},
                                .remote = &*url,
                                .input = {}},
                               context.with_timeout(kRegistryLimit));
  if (!answer.ok())
    return failed("registries", registry.name, answer.error(),
                  "packages that are in the cache still work; " + forget);
  const auto took = std::chrono::duration_cast<milliseconds>(dependencies.clock.steady_now() - began);
  return {"registries", registry.name, CheckState::Ok,
          fmt::format("{} answered in {} ms", url->display(), took.count())};
}

// "29", "29+" of managed clusters.
int leading_number(std::string_view text) {
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

enum class Scope : std::uint8_t {
  Namespace,  ///< objects in the release's namespace
  Itself,     ///< that namespace
};

struct Permission {
  std::string_view name;
  std::string_view group, resource, subresource;
  std::vector<std::string_view> verbs;
  Scope scope;
  bool needed;  ///< without it no release can be installed
  std::string_view why;
};

const std::vector<Permission>& permissions() {
  static constexpr std::string_view kCauses = "why a workload isn't ready can't be told";
  static const std::vector<Permission> all{
      {"secrets",
       "",
       "secrets",
       "",
       {"get", "list", "create", "patch", "delete"},
       Scope::Namespace,
       true,
       "the record of releases is kept in Secrets"},
      {"secrets (watch)",
       "",
       "secrets",
       "",
       {"watch"},
       Scope::Namespace,
       false,
       "a command can't wait for another one, nor take over from one that was killed"},
      {"namespace",
       "",
       "namespaces",
       "",
       {"get"},
       Scope::Itself,
       false,
       "whether the namespace exists can't be told before writing"},
      {"deployments",
       "apps",
       "deployments",
       "",
       {"list", "watch"},
       Scope::Namespace,
       false,
       "--wait can't see when a workload is ready"},
      {"pods", "", "pods", "", {"list"}, Scope::Namespace, false, kCauses},
      {"events", "", "events", "", {"list"}, Scope::Namespace, false, kCauses},
      {"pods/log",
       "",
       "pods",
       "log",
       {"get"},
       Scope::Namespace,
       false,
       "the last log lines of a failing container can't be shown"},
  };
  return all;
}

class ClusterDoctor {
 public:
  ClusterDoctor(kube::Client& client, Clock& clock, const std::function<std::optional<Duration>()>& skew,
                const Context& context)
      : client_(client), clock_(clock), skew_(skew), context_(context.with_timeout(kClusterLimit)) {}

  std::vector<Check> run() {
    if (!server()) {
      add("permissions", CheckState::Skipped, "the server can't be asked");
      return std::move(checks_);
    }
    clock();
    space();
    allowed();
    return std::move(checks_);
  }

 private:
  Check& add(std::string name, CheckState state, std::string detail, std::string hint = {}) {
    return checks_.emplace_back(Check{"cluster", std::move(name), state, std::move(detail), std::move(hint)});
  }

  bool server() {
    const auto version = client_.server_version(context_);
    if (!version.ok()) {
      checks_.push_back(failed("cluster", "server", version.error(),
                               "see whether its address is right and the network reaches it; --context and "
                               "--kubeconfig choose another cluster"));
      checks_.back().detail += fmt::format("; {}", client_.describe());
      return false;
    }
    // The first answer paid for connecting.
    const SteadyTime began = clock_.steady_now();
    const bool again = client_.server_version(context_).ok();
    const auto took = std::chrono::duration_cast<milliseconds>(clock_.steady_now() - began);
    const std::string name(version->string_at("gitVersion"));
    Check& check =
        add("server", CheckState::Ok,
            fmt::format("{}, Kubernetes {}, answers in {} ms", client_.describe(), name, took.count()));
    const int minor = leading_number(version->string_at("minor"));
    if (!again) {
      check.state = CheckState::Warn;
      check.detail = fmt::format("{}, Kubernetes {}, answers only now and then", client_.describe(), name);
      check.hint = "one of its API servers, or the load balancer in front of them, may be down";
    } else if (minor >= 0 && minor < kOldestMinor && version->string_at("major") == "1") {
      check.state = CheckState::Warn;
      check.hint =
          fmt::format("Mistletoe has not been tried with a Kubernetes older than 1.{}", kOldestMinor);
    } else if (took > kSlowServer) {
      check.state = CheckState::Warn;
      check.hint = "the server is slow or far away: everything takes that long for each step";
    }
    return true;
  }

  void clock() {
    const auto skew = skew_();
    if (!skew) return;
    const auto away = std::chrono::duration_cast<seconds>(*skew < Duration::zero() ? -*skew : *skew);
    if (away <= kSomeSkew) {
      add("clock", CheckState::Ok, "this machine's and the server's agree");
      return;
    }
    add("clock", away > kMuchSkew ? CheckState::Fail : CheckState::Warn,
        fmt::format("the server's is {} s {} this machine's", away.count(),
                    *skew > Duration::zero() ? "ahead of" : "behind"),
        "set the clocks (NTP): tokens and certificates are valid by them");
  }

  void space() {
    const std::string& ns = client_.default_namespace();
    if (!is_dns1123_label(ns)) {
      add("namespace", CheckState::Fail, fmt::format("\"{}\" can't be the name of a namespace", ns),
          "lower-case letters, digits and '-' only, 63 at most (RFC 1123); choose another with -n");
      return;
    }
    const kube::ObjectRef ref{{{"", "v1", "Namespace"}, "namespaces", false, {}}, "", ns};
    const auto there = client_.get(ref, context_);
    if (there.ok())
      add("namespace", CheckState::Ok, ns);
    else if (there.error().kind == ErrorKind::NotFound)
      add("namespace", CheckState::Warn, fmt::format("{} does not exist", ns),
          "install with --create-namespace, or choose another with -n");
    else if (there.error().kind == ErrorKind::Forbidden)
      add("namespace", CheckState::Skipped, fmt::format("{}: we may not look", ns));
    else
      checks_.push_back(failed("cluster", "namespace", there.error(), kAskAgain));
  }

  struct Question {
    const Permission* permission;
    std::string_view verb;
    Result<bool> answer = false;
  };

  Result<bool> may(const Question& question) {
    const kube::ResourceInfo reviews{
        {"authorization.k8s.io", "v1", "SelfSubjectAccessReview"}, "selfsubjectaccessreviews", false, {}};
    const Permission& permission = *question.permission;
    const std::string& ns = client_.default_namespace();
    // A namespace lies in itself: a Role there may allow to read it.
    Value attributes =
        Value::object({{"verb", question.verb}, {"resource", permission.resource}, {"namespace", ns}});
    if (!permission.group.empty()) attributes.set("group", permission.group);
    if (!permission.subresource.empty()) attributes.set("subresource", permission.subresource);
    if (permission.scope == Scope::Itself) attributes.set("name", ns);
    const Value review =
        Value::object({{"apiVersion", "authorization.k8s.io/v1"},
                       {"kind", "SelfSubjectAccessReview"},
                       {"spec", Value::object({{"resourceAttributes", std::move(attributes)}})}});
    MIST_TRY(const Value answer, client_.create(reviews, "", review, context_));
    return answer.is_true_at({"status", "allowed"});
  }

  void allowed() {
    std::vector<Question> questions;
    for (const Permission& permission : permissions())
      for (const std::string_view verb : permission.verbs)
        questions.push_back({.permission = &permission, .verb = verb});
    (void)parallel_for(questions.size(), kQuestionsAtOnce, [&](std::size_t i) -> Status {
      questions[i].answer = may(questions[i]);
      return {};
    });
    for (auto first = questions.begin(); first != questions.end();) {
      const auto last = std::find_if(
          first, questions.end(), [&](const Question& each) { return each.permission != first->permission; });
      judge(*first->permission, std::span<const Question>(first, last));
      first = last;
    }
  }

  void judge(const Permission& permission, std::span<const Question> asked) {
    std::string name = fmt::format("permission {}", permission.name);
    const CheckState lacking = permission.needed ? CheckState::Fail : CheckState::Warn;
    std::vector<std::string> verbs, refused;
    for (const Question& question : asked) {
      // A check that can't know that a needed permission is there must not say so.
      if (!question.answer.ok()) {
        checks_.push_back(failed("cluster", name, question.answer.error(), kAskAgain, lacking));
        checks_.back().detail = fmt::format("can't be told: {}", checks_.back().detail);
        return;
      }
      (*question.answer ? verbs : refused).emplace_back(question.verb);
    }
    const std::string& ns = client_.default_namespace();
    const std::string place =
        permission.scope == Scope::Itself ? fmt::format(" of {}", ns) : fmt::format(" in namespace {}", ns);
    if (refused.empty()) {
      add(std::move(name), CheckState::Ok, join(verbs, ", ") + place);
      return;
    }
    add(std::move(name), lacking,
        fmt::format("not allowed: {}{}; {}", join(refused, ", "), place, permission.why),
        fmt::format("ask an administrator for a Role in {} with {{apiGroups: [\"{}\"], resources: [{}{}{}], "
                    "verbs: [{}]}}",
                    ns, permission.group, permission.resource, permission.subresource.empty() ? "" : "/",
                    permission.subresource, join(refused, ", ")));
  }

  kube::Client& client_;
  Clock& clock_;
  const std::function<std::optional<Duration>()>& skew_;
  const Context context_;
  std::vector<Check> checks_;
};

}  // namespace

std::string_view to_string(CheckState state) {
  switch (state) {
    case CheckState::Ok:
      return "ok";
    case CheckState::Warn:
      return "warn";
    case CheckState::Fail:
      return "fail";
    case CheckState::Skipped:
      return "skipped";
  }
  return "fail";
}

Check check_directories(const DoctorDependencies& dependencies) {
  if (const Status safe = config::check_places(dependencies.paths); !safe.ok())
    return failed("configuration", "directories", safe.error(), "no other command runs until then");
  return {"configuration", "directories", CheckState::Ok, "only you may write into them"};
}

std::vector<Check> check_configuration(const DoctorDependencies& dependencies) {
  return {check_directories(dependencies), check_config_file(dependencies), check_trust_policy(dependencies),
          check_seed(dependencies)};
}

std::vector<Check> check_caches(const DoctorDependencies& dependencies) {
  const config::Paths& paths = dependencies.paths;
  std::vector<Check> checks;
  const std::pair<const char*, Path> caches[] = {
      {"registries", paths.registries()},       {"packages", paths.packages()},
      {"compiled code", paths.compiled_code()}, {"renders", paths.renders()},
      {"discovery", paths.discovery()},         {"credentials", paths.exec_credentials()}};
  for (const auto& [name, path] : caches) {
    if (std::optional<Check> check = check_cache(name, path)) checks.push_back(*std::move(check));
  }
  checks.push_back(check_room(paths.cache));
  return checks;
}

std::vector<Check> check_sandbox(const DoctorDependencies& dependencies) {
  Listener listener;
  const auto compile = [&]() -> Status {
    MIST_TRY(wasm::Runtime runtime,
             wasm::Runtime::create({.cache_directory = dependencies.paths.compiled_code()}, listener));
    // The smallest module: a header, and nothing behind it.
    constexpr std::array<unsigned char, 8> kEmpty{0, 'a', 's', 'm', 1, 0, 0, 0};
    MIST_TRY(const wasm::Module module, runtime.load(std::as_bytes(std::span(kEmpty)), "an empty module"));
    return {};
  };
  if (const Status compiled = compile(); !compiled.ok())
    return {failed("sandbox", "WebAssembly", compiled.error(), "no package can be rendered on this machine")};
  if (!listener.warnings.empty())
    return {{"sandbox", "WebAssembly", CheckState::Warn, join(listener.warnings, "; "),
             fmt::format("each command compiles again until {} can be used",
                         dependencies.paths.compiled_code().string())}};
  std::vector<Check> checks{
      {"sandbox", "WebAssembly", CheckState::Ok, "compiles, and keeps what it compiled"}};
  if (!dependencies.engines.empty()) checks.push_back(check_engines(dependencies));
  return checks;
}

std::vector<Check> check_registries(const DoctorDependencies& dependencies, Network network,
                                    const Context& context) {
  Listener listener;
  const auto config = config::Config::load(dependencies.files, dependencies.paths, listener);
  // check_configuration says what is wrong with it.
  if (!config.ok()) return {{"registries", "all", CheckState::Skipped, "the configuration can't be read"}};
  const std::vector<config::Registry>& registries = config->registries();
  const bool git = std::ranges::any_of(registries, [](const config::Registry& registry) {
    return std::holds_alternative<config::GitSource>(registry.remote().source);
  });
  std::vector<Check> checks(registries.size());
  (void)parallel_for(registries.size(), 8, [&](std::size_t i) -> Status {
    checks[i] = check_registry(dependencies, registries[i], config->mirrors(), network, context);
    return {};
  });
  checks.insert(checks.begin(), check_git(dependencies, context, git));
  for (const config::Mirror& mirror : config->mirrors())
    if (std::optional<Check> check = check_mirror(dependencies, listener, mirror))
      checks.push_back(*std::move(check));
  return checks;
}

std::vector<Check> check_cluster(kube::Client& client, Clock& clock,
                                 const std::function<std::optional<Duration>()>& skew,
                                 const Context& context) {
  return ClusterDoctor(client, clock, skew, context).run();
}

}  // namespace mist::action
