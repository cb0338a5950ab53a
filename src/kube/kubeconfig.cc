#include "kube/kubeconfig.h"

#include <algorithm>

#include "base/text.h"
#include "kube/kubeconfig_reader.h"

namespace mist::kube {
namespace {

constexpr std::uint64_t kLargestKubeconfig = 16 << 20;

std::vector<std::string_view> views(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

std::string known(const std::vector<std::string>& names) {
  return names.empty() ? "there is none" : "known: " + join(names, ", ");
}

template <typename Map>
std::vector<std::string> keys_of(const Map& map) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : map) names.push_back(name);
  return names;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& names) {
  const auto candidates = views(names);
  const std::string_view best = nearest(word, candidates);
  return best.empty() ? std::string() : fmt::format("did you mean \"{}\"?", best);
}

}  // namespace

KubeconfigFiles KubeconfigFiles::choose(const std::string& chosen, const Getenv& getenv) {
  if (!chosen.empty()) return {{Path(chosen)}, true};
  KubeconfigFiles files;
  if (const auto list = getenv("KUBECONFIG"); list && !list->empty()) {
    for (const std::string_view part : split(*list, ':')) {
      const Path path(part);
      if (!part.empty() && std::ranges::find(files.paths, path) == files.paths.end())
        files.paths.push_back(path);
    }
    return files;
  }
  if (const auto home = getenv("HOME"); home && !home->empty())
    files.paths.push_back(Path(*home) / ".kube/config");
  return files;
}

Result<Kubeconfig> Kubeconfig::load(const KubeconfigFiles& files, const FileSystem& fs) {
  Kubeconfig config;
  for (const Path& path : files.paths) {
    auto text = fs.read(path, kLargestKubeconfig);
    if (!text) {
      if (text.error().kind == ErrorKind::NotFound && !files.must_exist) continue;
      const bool missing = text.error().kind == ErrorKind::NotFound;
      Error failure = std::move(text).error().with_frame("while reading the kubeconfig");
      if (missing)
        failure.hint =
            "give --kubeconfig a file that is there; without it, KUBECONFIG and ~/.kube/config count";
      return failure;
    }
    MIST_TRY_VOID(KubeconfigReader(path, config).read(*text).in("while reading the kubeconfig"));
    config.files_.push_back(path.string());
  }
  return config;
}

std::vector<std::string> Kubeconfig::context_names() const { return keys_of(contexts_); }

std::string Kubeconfig::described_files() const {
  return files_.empty() ? "the kubeconfig" : join(files_, ", ");
}

Result<ResolvedContext> Kubeconfig::resolve(const std::string& name) const {
  const std::string wanted = name.empty() ? current_context_ : name;
  const std::vector<std::string> contexts = context_names();
  if (wanted.empty())
    return error(ErrorKind::Invalid, "no context is chosen: {} has no current-context ({})",
                 described_files(), known(contexts))
        .with_hint(contexts.empty() ? "give --kubeconfig a file that has contexts"
                                    : fmt::format("use --context {}, or: kubectl config use-context {}",
                                                  contexts[0], contexts[0]));
  const auto context = contexts_.find(wanted);
  if (context == contexts_.end()) {
    Error failure = error(ErrorKind::NotFound, "{}\"{}\" is not in {}; {}",
                          name.empty() ? "the current-context " : "the context ", wanted, described_files(),
                          known(contexts))
                        .with_hint(suggestion(wanted, contexts));
    if (failure.hint.empty())
      failure.hint = contexts.empty() ? "give --kubeconfig a file that has contexts"
                                      : fmt::format("use --context {}", contexts.front());
    if (name.empty()) failure.where = current_context_at_;
    return failure;
  }

  ResolvedContext resolved;
  resolved.name = wanted;
  const ContextEntry& entry = context->second;
  if (!entry.ns.empty()) resolved.ns = entry.ns;
  const auto dangling = [&](std::string_view what, const std::string& target,
                            const std::vector<std::string>& there) {
    Error failure = target.empty() ? error(ErrorKind::Invalid, "the context \"{}\" names no {}", wanted, what)
                                   : error(ErrorKind::Invalid,
                                           "the context \"{}\" names the {} \"{}\", which is not in {}; {}",
                                           wanted, what, target, described_files(), known(there));
    return std::move(failure).with_hint(suggestion(target, there)).at(entry.where);
  };
  if (const auto broken = broken_clusters_.find(entry.cluster); broken != broken_clusters_.end())
    return broken->second;
  const auto cluster = clusters_.find(entry.cluster);
  if (cluster == clusters_.end()) return dangling("cluster", entry.cluster, keys_of(clusters_));
  resolved.cluster = cluster->second;
  if (resolved.cluster.server.empty())
    return error(ErrorKind::Invalid, "the cluster \"{}\" has no server", entry.cluster)
        .with_hint("set its address: server: https://HOST:PORT")
        .at(resolved.cluster.where);
  if (const auto broken = broken_users_.find(entry.user); broken != broken_users_.end())
    return broken->second;
  // As in kubectl, a context without user connects anonymously.
  if (entry.user.empty()) return resolved;
  const auto user = users_.find(entry.user);
  if (user == users_.end()) return dangling("user", entry.user, keys_of(users_));
  resolved.user = user->second;
  return resolved;
}

}  // namespace mist::kube
