#include "cli/parse/peers.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/command_hint.h"
#include "cli/parse/flags.h"
#include "cli/parse/invocation.h"
#include "cli/parse/parse.h"

namespace mist::cli {
namespace {

constexpr std::string_view kNoRepositories =
    "a chart repository has a name: mistctl registry add NAME --helm URL, then -p NAME/CHART:VERSION";
constexpr std::string_view kByValues = "objects are changed through the release's values";
constexpr std::string_view kOfKubectl = "kubectl does that";
constexpr PeerVerb kVerbs[] = {
    {Peer::Helm, "install", "NAME CHART", "install NAME -p CHART"},
    {Peer::Helm, "upgrade", "NAME CHART", "upgrade NAME -p CHART"},
    {Peer::Helm, "template", "NAME CHART", "generate NAME -p CHART",
     "-o helm prints the same bytes as helm template"},
    {Peer::Helm, "delete", "NAME", "uninstall NAME"},
    {Peer::Helm, "del", "NAME", "uninstall NAME"},
    {Peer::Helm, "un", "NAME", "uninstall NAME"},
    {Peer::Helm, "rm", "NAME", "uninstall NAME"},
    {Peer::Helm, "remove", "NAME", "uninstall NAME"},
    {Peer::Helm, "ls", "", "list"},
    {Peer::Helm, "hist", "NAME", "history NAME"},
    {Peer::Helm, "get values", "NAME", "inspect release NAME --only values"},
    {Peer::Helm, "get manifest", "NAME", "inspect release NAME --only manifest"},
    {Peer::Helm, "get notes", "NAME", "status NAME --notes"},
    {Peer::Helm, "get hooks", "NAME", "generate NAME -p CHART -o helm",
     "the hooks of a release are printed with what its chart renders"},
    {Peer::Helm, "get all", "NAME", "inspect release NAME -o yaml"},
    {Peer::Helm, "get metadata", "NAME", "status NAME"},
    {Peer::Helm, "show values", "CHART", "inspect package CHART --only values"},
    {Peer::Helm, "show chart", "CHART", "inspect package CHART"},
    {Peer::Helm, "show all", "CHART", "inspect package CHART"},
    {Peer::Helm, "show readme", "CHART", "inspect package CHART", "the README stays in the chart"},
    {Peer::Helm, "show crds", "CHART", "generate NAME -p CHART -o helm --include-crds",
     "they come before the other objects"},
    {Peer::Helm, "show", "CHART", "inspect package CHART"},
    {Peer::Helm, "inspect values", "CHART", "inspect package CHART --only values"},
    {Peer::Helm, "inspect chart", "CHART", "inspect package CHART"},
    {Peer::Helm, "inspect all", "CHART", "inspect package CHART"},
    {Peer::Helm, "inspect readme", "CHART", "inspect package CHART", "the README stays in the chart"},
    {Peer::Helm, "fetch", "", "pull REGISTRY/CHART:VERSION"},
    {Peer::Helm, "diff upgrade", "NAME CHART", "diff NAME -p CHART"},
    {Peer::Helm, "diff revision", "NAME FROM TO", "diff NAME --from FROM --to TO"},
    {Peer::Helm, "diff rollback", "NAME FROM", "diff NAME --from FROM",
     "it shows what happened since; a rollback undoes that"},
    {Peer::Helm, "lint", "CHART", "package lint CHART"},
    {Peer::Helm, "create", "NAME", "package init NAME --template chart"},
    {Peer::Helm, "package", "CHART", "package build CHART"},
    {Peer::Helm, "registry login", "HOST", "login HOST"},
    {Peer::Helm, "registry logout", "HOST", "logout HOST"},
    {Peer::Helm, "repo add", "NAME URL", "registry add NAME --helm URL",
     "then -p NAME/CHART:VERSION; Helm's credentials for that URL are used"},
    {Peer::Helm, "repo list", "", "registry list"},
    {Peer::Helm, "repo update", "", "registry update"},
    {Peer::Helm, "repo remove", "NAME", "registry remove NAME"},
    {Peer::Helm, "repo index", "", "push CHART oci://HOST/PATH/CHART",
     "charts are published in OCI registries"},
    {Peer::Helm, "repo", "", "registry list"},
    {Peer::Helm, "search", "", "search", "the configured registries are searched"},
    {Peer::Helm, "dep", "CHART", "dependency list CHART"},
    {Peer::Helm, "dependencies", "CHART", "dependency list CHART"},
    {Peer::Helm, "dependency up", "CHART", "dependency update CHART"},
    {Peer::Helm, "dependency ls", "CHART", "dependency list CHART"},
    {Peer::Helm, "dep build", "CHART", "dependency build CHART"},
    {Peer::Helm, "dep update", "CHART", "dependency update CHART"},
    {Peer::Helm, "dep up", "CHART", "dependency update CHART"},
    {Peer::Helm, "dep list", "CHART", "dependency list CHART"},
    {Peer::Helm, "verify", "CHART", "verify CHART --keyring FILE",
     "a path begins with ./; charts in chart repositories and OCI registries are verified too"},
    {Peer::Helm, "env", "", "config path -o yaml"},
    {Peer::Helm, "plugin", "", "", "there are no plugins"},
    {Peer::Kubectl, "apply", "", "install NAME -p ./DIRECTORY",
     "a directory of manifests is a package; later changes are mistctl upgrade NAME -p ./DIRECTORY"},
    {Peer::Kubectl, "get", "", "list",
     "the list has releases; the objects of one are in mistctl status NAME --all-objects"},
    {Peer::Kubectl, "describe", "NAME", "status NAME --all-objects"},
    {Peer::Kubectl, "logs", "", "status NAME",
     "logs are kubectl's; the status says which container fails, and why"},
    {Peer::Kubectl, "edit", "", "upgrade NAME --reuse-values --set KEY=VALUE", kByValues},
    {Peer::Kubectl, "patch", "", "upgrade NAME --reuse-values --set KEY=VALUE", kByValues},
    {Peer::Kubectl, "scale", "", "upgrade NAME --reuse-values --set KEY=VALUE", kByValues},
    {Peer::Kubectl, "set", "", "upgrade NAME --reuse-values --set KEY=VALUE", kByValues},
    {Peer::Kubectl, "label", "", "upgrade NAME --reuse-values --set KEY=VALUE", kByValues},
    {Peer::Kubectl, "annotate", "", "upgrade NAME --reuse-values --set KEY=VALUE", kByValues},
    {Peer::Kubectl, "replace", "", "upgrade NAME --reuse-values --set KEY=VALUE", kByValues},
    {Peer::Kubectl, "wait", "", "status NAME --watch --exit-code",
     "it ends once it is decided whether the release becomes ready"},
    {Peer::Kubectl, "events", "", "status NAME", "events of what is not ready are in the status"},
    {Peer::Kubectl, "kustomize", "DIRECTORY", "generate NAME -p DIRECTORY",
     "-o kustomize prints the same bytes as kubectl kustomize"},
    {Peer::Kubectl, "explain", "", "", "kubectl explain shows the fields of a kind"},
    {Peer::Kubectl, "rollout restart", "", "", kOfKubectl},
    {Peer::Kubectl, "exec", "", "", kOfKubectl},
    {Peer::Kubectl, "attach", "", "", kOfKubectl},
    {Peer::Kubectl, "cp", "", "", kOfKubectl},
    {Peer::Kubectl, "port-forward", "", "", kOfKubectl},
    {Peer::Kubectl, "run", "", "", kOfKubectl},
    {Peer::Kubectl, "expose", "", "", kOfKubectl},
    {Peer::Kubectl, "top", "", "", kOfKubectl},
    {Peer::Kubectl, "debug", "", "", kOfKubectl},
    {Peer::Kubectl, "api-resources", "", "", kOfKubectl},
    {Peer::Kubectl, "auth", "", "", kOfKubectl},
    {Peer::Kubectl, "cluster-info", "", "", kOfKubectl},
    {Peer::Kubectl, "rollout undo", "NAME", "rollback NAME"},
    {Peer::Kubectl, "rollout status", "NAME", "status NAME"},
    {Peer::Kubectl, "rollout history", "NAME", "history NAME"},
    {Peer::Kubectl, "config use-context", "CONTEXT", "list --context CONTEXT",
     "the kubeconfig is kubectl's; --context chooses for one command"},
    {Peer::Kubectl, "config get-contexts", "", "list --context CONTEXT",
     "the kubeconfig is kubectl's; --context chooses for one command"},
    {Peer::Kubectl, "config current-context", "", "version --server",
     "the kubeconfig is kubectl's; --context chooses for one command"},
};

constexpr std::string_view kPackageCommands = "install, upgrade, generate, diff, plan, inspect package, pull";
constexpr std::string_view kRegistryCommands =
    "install, upgrade, generate, diff, plan, inspect package, pull, push, login, registry add";
constexpr std::string_view kLogin = "mistctl login HOST keeps credentials for a registry";
constexpr std::string_view kCertificates =
    "a registry's certificates are read from ~/.config/containers/certs.d/HOST, and from Helm's "
    "repositories.yaml";
constexpr std::string_view kAlwaysChecked =
    "certificates are always checked; that of an authority goes into ~/.config/containers/certs.d/HOST";
constexpr std::string_view kInKubeconfig = "it is part of a kubeconfig: --kubeconfig FILE, --context NAME";
constexpr std::string_view kOwnFiles = "mistctl config path names the files that are used";
constexpr std::string_view kNoLabels = "records have no labels of yours; --filter looks into names";
constexpr std::string_view kWrites = "install, upgrade, rollback, recover";
constexpr PeerFlag kFlags[] = {
    {"--atomic", false, "install, upgrade", "--rollback-on-failure"},
    {"--cleanup-on-fail", false, "upgrade", "--rollback-on-failure",
     "it returns to the deployed revision, and what the failed one created goes"},
    {"--reset-values", false, "upgrade, diff, plan", "-f /dev/null",
     "values that are given replace those of the release; an empty file alone gives none"},
    {"--reset-then-reuse-values", false, "upgrade, diff, plan", "--reuse-values",
     "it merges into the values that were given; the defaults are the new package's"},
    {"--force", false, kWrites, "--replace",
     "--replace deletes and recreates what can't be changed in place"},
    {"--force-replace", false, kWrites, "--replace"},
    {"--wait-for-jobs", false, kWrites, "--wait",
     "--wait waits for Jobs too, unless --no-wait-for-jobs is given"},
    {"--generate-name", false, "install, generate", "", "a release's name is its first argument", true},
    {"--name-template", true, "install, upgrade, generate", "", "a release's name is its first argument",
     true},
    {"--keep-history", false, "uninstall", "",
     "the record goes with the release; mistctl inspect release NAME -o yaml prints it before", true},
    {"--cascade", true, "uninstall", "", "dependents are deleted with their owners; --wait waits for them",
     true},
    {"--purge", false, "uninstall", "", "the record goes with the release always"},
    {"--description", true, "install, upgrade, rollback, uninstall", "",
     "the history records what was done itself"},
    {"--take-ownership", false, "install, upgrade", "--adopt"},
    {"--post-renderer", true, "install, upgrade, generate, diff, plan", "",
     "a kustomization that inflates the chart changes what it makes", true},
    {"--output-dir", true, "generate", "-o dir=VALUE"},
    {"--hide-notes", false, "install, upgrade", "", "mistctl status NAME --notes shows them"},
    {"--disable-openapi-validation", false, "install, upgrade", "",
     "the server refuses what its schemas don't have, too", true},
    {"--lock-timeout", true, "install, upgrade, rollback, recover, uninstall", "--lock-wait VALUE"},
    {"--no-headers", false, "list, status, history", "-o json", "tables are for people"},
    {"--kube-context", true, "", "--context VALUE"},
    {"--debug", false, "", "--verbose"},
    {"--max", true, "history", "",
     "it shows all revisions that are kept: --history-max of install and upgrade"},
    {"--revision", true, "status", "inspect release NAME --revision VALUE"},
    {"--revision", true, "rollback", "VALUE", "the revision is an argument"},
    {"--revision", true, "history", "inspect release NAME --revision VALUE"},
    {"--to-revision", true, "rollback", "VALUE", "the revision is an argument"},
    {"--version", true, "install, upgrade, generate, diff, plan, inspect package, pull", "-p PACKAGE:VALUE",
     "the version is part of the package's reference"},
    {"--repo", true, "", "", kNoRepositories, true},
    {"--devel", false, "", "", "the version is part of the package's reference", true},
    {"--all-namespaces", false, "status, history, uninstall", "list -A"},
    {"-A", false, "status, history, uninstall", "list -A"},
    {"--all", false, "list", "", "it lists releases of every status always"},
    {"-a", false, "list", "", "it lists releases of every status always"},
    {"--all", false, "inspect release", "inspect package PACKAGE --only values",
     "a release keeps the values that were given; the defaults are the package's"},
    {"-a", false, "inspect release", "inspect package PACKAGE --only values",
     "a release keeps the values that were given; the defaults are the package's"},
    {"-s", true, "generate", "--show-only VALUE"},
    {"--short", false, "version", ""},
    {"-d", false, "list", "--sort-by updated"},
    {"--date", false, "list", "--sort-by updated"},
    {"-m", true, "list", "--max VALUE"},
    {"--offset", true, "list", "", "it lists all at once; --max and --sort-by choose the first", true},
    {"--superseded", false, "list", "",
     "a release has the status of its newest revision; see mistctl history NAME"},
    {"--uninstalled", false, "list", "", "the record goes with the release", true},
    {"--show-resources", false, "status", "--all-objects"},
    {"--dependency-update", false, "install, upgrade, generate", "",
     "mistctl dependency update CHART fills the chart's charts/ before", true},
    {"--skip-refresh", false, "dependency build, dependency update", "",
     "nothing is kept of an index, so it is read each time"},
    {"--verify", false, "", "",
     "install, upgrade, plan, diff, generate, inspect package, pull and dependency have it", true},
    {"--sign", false, "package build", "",
     "`helm package --sign` makes provenance files, and mistctl verify reads them", true},
    {"--server-side", false, "", "", "it applies on the server always"},
    {"--prune", false, "install, upgrade", "",
     "objects that the package no longer has are deleted; CRDs, claims and namespaces only with "
     "--delete-crds, --delete-pvcs, --delete-namespaces"},
    {"--field-manager", true, "", "", "objects are applied as the field manager mistctl", true},
    {"--username", true, kPackageCommands, "", kLogin, true},
    {"--password", true, kPackageCommands, "", kLogin, true},
    {"--pass-credentials", false, kPackageCommands, "", kLogin, true},
    {"--ca-file", true, kRegistryCommands, "", kCertificates, true},
    {"--cert-file", true, kRegistryCommands, "", kCertificates, true},
    {"--key-file", true, kRegistryCommands, "", kCertificates, true},
    {"--insecure-skip-tls-verify", false, kRegistryCommands, "", kAlwaysChecked, true},
    {"--post-renderer-args", true, "install, upgrade, generate, diff, plan", "",
     "a kustomization that inflates the chart changes what it makes", true},
    {"--labels", true, "install, upgrade", "", kNoLabels, true},
    {"--selector", true, "list", "", kNoLabels, true},
    {"-l", true, "list", "", kNoLabels, true},
    {"--time-format", true, "list", "-o json", "times are whole there"},
    {"--hide-secret", false, "install, upgrade", "",
     "what Secrets hold is hidden unless --show-secrets is given to mistctl plan"},
    {"--recreate-pods", false, "upgrade, rollback", "", "kubectl rollout restart restarts Pods", true},
    {"--install", false, "diff, plan", "", "a release that does not exist is planned as an install"},
    {"-i", false, "diff, plan", "", "a release that does not exist is planned as an install"},
    {"--revision", true, "diff", "--from VALUE"},
    {"--cleanup-on-fail", false, "rollback", "",
     "mistctl recover NAME --undo removes what a failed rollback created", true},
    {"--show-desc", false, "status", "history NAME"},
    {"-a", true, "generate", "--api-versions VALUE"},
    {"--no-hooks", false, "generate", "--for-controller",
     "it leaves out tests and the hooks that neither an install nor an upgrade runs; the others are ordinary "
     "objects"},
    {"--dry-run", false, "generate", "", "generate only prints"},
    {"--versions", false, "search", "--output json", "it has all versions of each package"},
    {"-l", false, "search", "--output json", "it has all versions of each package"},
    {"--destination", true, "package build", "", "-o FILE names the package, not a directory"},
    {"-d", true, "package build", "", "-o FILE names the package, not a directory"},
    {"--version", true, "package build", "",
     "the version is the package's own, in Chart.yaml, mistletoe.yaml or K3.yaml"},
    {"--app-version", true, "package build", "", "appVersion of Chart.yaml is taken"},
    {"--untardir", true, "pull", "--destination VALUE", "--untar writes the chart's directory to it"},
    {"--logs", false, "test", "", "the log of each container is printed"},
    {"--kube-token", true, "", "", kInKubeconfig, true},
    {"--kube-apiserver", true, "", "", kInKubeconfig, true},
    {"--kube-as-user", true, "", "", kInKubeconfig, true},
    {"--kube-as-group", true, "", "", kInKubeconfig, true},
    {"--kube-ca-file", true, "", "", kInKubeconfig, true},
    {"--kube-tls-server-name", true, "", "", kInKubeconfig, true},
    {"--kube-insecure-skip-tls-verify", false, "", "", kInKubeconfig, true},
    {"--as", true, "", "", kInKubeconfig, true},
    {"--as-group", true, "", "", kInKubeconfig, true},
    {"--token", true, "", "", kInKubeconfig, true},
    {"--cluster", true, "", "", kInKubeconfig, true},
    {"--user", true, "", "", kInKubeconfig, true},
    {"--registry-config", true, "", "", kOwnFiles, true},
    {"--repository-cache", true, "", "", kOwnFiles, true},
    {"--repository-config", true, "", "", kOwnFiles, true},
    {"--burst-limit", true, "", "", "it is left to the server how many requests it takes"},
    {"--qps", true, "", "", "it is left to the server how many requests it takes"},
    {"--grace-period", true, "", "", "Pods have the grace period of their spec", true},
};

// A package's version is part of another flag's value, which cannot be told from here.
constexpr std::string_view kPackageFlag = "-p ";

using Words = std::vector<std::string_view>;

Words words_of(std::string_view text) { return text.empty() ? Words{} : split(text, ' '); }

bool says_where(const Flag& flag) {
  return flag.name == "namespace" || flag.name == "context" || flag.name == "kubeconfig";
}

// One argument more than that is too many.
std::size_t most_arguments(const Command& command) {
  for (const Argument& argument : command.arguments)
    if (argument.arity == Arity::OneOrMore || argument.arity == Arity::Any) return SIZE_MAX;
  return command.arguments.size();
}

FoundCommand own_command(const CommandTable& table, const Words& words) {
  return find_command_in(table, std::vector<std::string>(words.begin(), words.end()));
}

// A word that a path or reference can be, and the name of a command can't.
bool is_chart(std::string_view word) { return word.find_first_of("./") != std::string_view::npos; }

const PeerVerb* verb_of(const CommandTable& table, const Words& words) {
  if (words.empty()) return nullptr;
  const std::string two = words.size() > 1 ? fmt::format("{} {}", words[0], words[1]) : "";
  for (const std::string_view name : {std::string_view(two), words[0]}) {
    const auto found = std::ranges::find(kVerbs, name, &PeerVerb::name);
    if (name.empty() || found == std::end(kVerbs)) continue;
    // "package lnt" is a misspelled command, "package ./chart" is Helm's.
    const bool group = std::ranges::find(table.groups, name, &CommandGroup::name) != table.groups.end();
    if (!group || (words.size() > 1 && is_chart(words[1]))) return found;
  }
  return nullptr;
}

bool is_for(const PeerFlag& flag, const Command& command) {
  if (flag.commands.empty()) return true;
  const Words commands = split(flag.commands, ',');
  return std::ranges::any_of(commands, [&](std::string_view each) { return trim(each) == command.path; });
}

const PeerFlag* flag_of(const Token& token, const Command& command) {
  const std::string spelled = token.spelled();
  for (const PeerFlag& flag : kFlags)
    if (flag.name == spelled && is_for(flag, command)) return &flag;
  return nullptr;
}

// The words for the peer's arguments. Where there are more than it has, none can be told from another.
std::map<std::string_view, std::string> arguments_of(const PeerVerb& verb, const Words& given) {
  Words names = words_of(verb.arguments);
  std::map<std::string_view, std::string> found;
  if (given.size() > names.size()) return found;
  if (given.size() == 1 && names.size() == 2 && is_chart(given[0])) names.erase(names.begin());
  for (std::size_t i = 0; i < given.size(); ++i)
    if (names[i] != "NAME" || is_dns1123_label(given[i])) found[names[i]] = given[i];
  return found;
}

const Flag* flag_of_token(const Command& command, const Token& token) {
  return token.is_letter ? find_flag(command, token.name[0])
                         : find_flag(command, std::string_view(token.name));
}

std::string written(const Token& token, const Flag* flag) {
  if (!token.value) return token.spelled();
  const bool apart = flag != nullptr && takes_value(*flag);
  return fmt::format("{}{}{}", token.spelled(), apart ? " " : "=", shell_word(*token.value));
}

std::string with_value(std::string_view here, const Token& token) {
  constexpr std::string_view kPlaceholder = "VALUE";
  const auto at = here.find(kPlaceholder);
  if (at == std::string_view::npos || !token.value) return std::string(here);
  return fmt::format("{}{}{}", here.substr(0, at), shell_word(*token.value),
                     here.substr(at + kPlaceholder.size()));
}

// Puts the line together as it should have been.
class Rewriter {
 public:
  Rewriter(const Line& line, const CommandTable& table)
      : line_(line), table_(table), words_(line.words.begin(), line.words.end()) {}

  std::optional<PeerAnswer> answer() {
    const FoundCommand own = own_command(table_, words_);
    const PeerVerb* const verb = verb_of(table_, words_);
    if (own.command != nullptr && (verb == nullptr || !has_their_arguments(own))) return our_verb(own);
    if (verb == nullptr) return std::nullopt;
    note(verb->note);
    if (verb->here.empty()) return PeerAnswer{"", because_};
    const FoundCommand meant = own_command(table_, words_of(verb->here));
    if (meant.command == nullptr) return std::nullopt;
    arguments_ = arguments_of(
        *verb,
        Words(words_.begin() + static_cast<std::ptrdiff_t>(words_of(verb->name).size()), words_.end()));
    add(verb->here);
    // Flags of kubectl that are spelled alike mean something else: -f is not a values file.
    if (verb->peer == Peer::Kubectl) return where_only();
    return flags(*meant.command, true);
  }

 private:
  // "install web ./chart": one argument more than ours, or the chart where our first argument is the name.
  bool has_their_arguments(const FoundCommand& own) const {
    const std::size_t count = words_.size() - own.words;
    bool has_package = false;
    for (const Token& token : line_.flags) {
      const Flag* const mine = flag_of_token(*own.command, token);
      // Of an unknown flag that word may be the value.
      if (mine == nullptr && !token.value && flag_of(token, *own.command) == nullptr) return false;
      has_package = has_package || (mine != nullptr && mine->name == "package");
    }
    if (has_package) return false;
    return count > most_arguments(*own.command) || (count == 1 && is_chart(words_[own.words]));
  }

  std::optional<PeerAnswer> our_verb(const FoundCommand& own) {
    add(own.command->path);
    for (std::size_t i = own.words; i < words_.size(); ++i) out_.push_back(shell_word(words_[i]));
    if (words_.size() > own.words) arguments_["NAME"] = words_[own.words];
    return flags(*own.command, false);
  }

  void add(std::string_view here) {
    for (const std::string_view word : words_of(here)) {
      const auto filled = arguments_.find(word);
      out_.push_back(filled == arguments_.end() ? std::string(word) : shell_word(filled->second));
    }
  }

  void note(std::string_view text) {
    if (text.empty() || because_.find(text) != std::string::npos) return;
    because_ += fmt::format("{}{}", because_.empty() ? "" : "; ", text);
  }

  // Nothing, if mistctl has each of the flags and the verb too.
  std::optional<PeerAnswer> flags(const Command& command, bool answered) {
    const bool their_verb = answered;
    std::vector<std::string> behind;
    for (const Token& token : line_.flags) {
      const Flag* const mine = flag_of_token(command, token);
      const PeerFlag* const theirs = mine != nullptr && !their_verb ? nullptr : flag_of(token, command);
      if (theirs == nullptr && mine == nullptr && their_verb) {
        note(fmt::format("{} is left out: {} has no such flag", token.spelled(),
                         typed(table_.called_as, command.path)));
        continue;
      }
      if (theirs == nullptr) {
        behind.push_back(written(token, mine));
        continue;
      }
      answered = true;
      note(theirs->note);
      if (theirs->essential) return PeerAnswer{"", because_};
      const std::string here = with_value(theirs->here, token);
      if (here.starts_with(kPackageFlag)) {
        if (!token.value) return in_words(*theirs, here);
        version_ = *token.value;
        in_words_ = in_words(*theirs, here);
      } else if (here.starts_with("-"))
        behind.push_back(here);
      else if (theirs->here == "VALUE")
        out_.push_back(here);
      else if (!here.empty())
        return another_command(here);
    }
    if (!answered) return std::nullopt;
    if (!version_.empty() && !put_version(behind)) return in_words_;
    for (std::string& each : behind)
      if (std::ranges::find(out_, each) == out_.end()) out_.push_back(std::move(each));
    return done();
  }

  // Behind the package, if it is in a registry and has none yet.
  bool put_version(std::vector<std::string>& behind) {
    const auto put = [&](std::string& text, std::size_t begin) {
      const std::string_view package = std::string_view(text).substr(begin);
      const std::string_view name = package.substr(package.rfind('/') + 1);
      if (package.find('/') == std::string_view::npos || package.front() == '.' || package.front() == '/' ||
          package.starts_with("http") || name.find_first_of(":@'\"") != std::string_view::npos)
        return false;
      text += ":" + version_;
      return true;
    };
    for (std::size_t i = 0; i + 1 < out_.size(); ++i)
      if (out_[i] == trim(kPackageFlag)) return put(out_[i + 1], 0);
    for (std::string& each : behind)
      for (const std::string_view flag : {"-p ", "--package "})
        if (each.starts_with(flag)) return put(each, flag.size());
    return false;
  }

  PeerAnswer another_command(std::string_view here) {
    out_.clear();
    add(here);
    return where_only();
  }

  PeerAnswer in_words(const PeerFlag& flag, std::string_view here) const {
    return {because_, fmt::format("{} instead of {}", here, flag.name)};
  }

  PeerAnswer where_only() {
    for (const Token& token : line_.flags)
      for (const Flag& flag : kGlobalFlags.flags)
        if ((token.is_letter ? flag.letter == token.name[0] : flag.name == token.name) && says_where(flag))
          out_.push_back(written(token, &flag));
    return done();
  }

  PeerAnswer done() const { return {because_, typed(table_.called_as, join(out_, " "))}; }

  const Line& line_;
  const CommandTable& table_;
  Words words_;
  std::map<std::string_view, std::string> arguments_;  // by the placeholder's name
  std::vector<std::string> out_;
  std::string because_;
  std::string version_;  // that belongs into the package's reference
  PeerAnswer in_words_;  // the answer if it can't be put there
};

}  // namespace

std::span<const PeerVerb> peer_verbs() { return kVerbs; }
std::span<const PeerFlag> peer_flags() { return kFlags; }

bool peer_takes_value(std::string_view name) {
  return std::ranges::any_of(
      kFlags, [&](const PeerFlag& flag) { return flag.takes_value && flag.name.substr(2) == name; });
}

std::optional<PeerAnswer> peer_answer(const Line& line, const CommandTable& table) {
  if (line.words.empty()) return std::nullopt;
  return Rewriter(line, table).answer();
}

std::string peer_tables() {
  const auto code = [](std::string_view text) {
    return text.empty() ? std::string() : fmt::format("`{}`", text);
  };
  const auto cell = [](std::string_view here, std::string_view note) {
    return here.empty()   ? std::string(note)
           : note.empty() ? std::string(here)
                          : fmt::format("{}; {}", here, note);
  };
  std::string out = "| command | here |\n|---|---|\n";
  for (const PeerVerb& verb : kVerbs)
    out += fmt::format("| `{} {}{}{}` | {} |\n", verb.peer == Peer::Helm ? "helm" : "kubectl", verb.name,
                       verb.arguments.empty() ? "" : " ", verb.arguments,
                       cell(verb.here.empty() ? "" : code(fmt::format("mistctl {}", verb.here)), verb.note));
  out += "\n| flag | of | here |\n|---|---|---|\n";
  for (const PeerFlag& flag : kFlags) {
    const bool command = !flag.here.empty() && flag.here != "VALUE" && !flag.here.starts_with("-");
    const std::string here = command             ? code(fmt::format("mistctl {}", flag.here))
                             : flag.here.empty() ? std::string(flag.essential ? "none" : "leave it out")
                                                 : code(flag.here);
    out += fmt::format("| `{}{}` | {} | {} |\n", flag.name, flag.takes_value ? " VALUE" : "",
                       flag.commands.empty() ? "all" : flag.commands, cell(here, flag.note));
  }
  return out;
}

}  // namespace mist::cli
