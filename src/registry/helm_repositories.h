#pragma once
// The chart repositories that this machine knows under a name: what `helm repo add` wrote to
// repositories.yaml. Charts name them as "@stable" or "alias:stable", and credentials are kept there. Any
// thread.

#include <string>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "base/result.h"
#include "config/paths.h"
#include "registry/chart_repository.h"

namespace mist::registry {

struct HelmRepository {
  std::string name;
  std::string url;
  std::string username = {};
  std::string password = {};
  bool everywhere = false;  ///< the credentials go to other hosts too (pass_credentials_all)
  bool own_tls = false;     ///< certificates of its own, or none that are checked: not supported
};

/// $HELM_REPOSITORY_CONFIG, else repositories.yaml in $HELM_CONFIG_HOME, $XDG_CONFIG_HOME/helm or
/// ~/.config/helm. Empty: there is no home.
Path helm_repositories_file(const config::Environment& environment);

/// Nothing if there is no such file. Errors: Invalid.
Result<std::vector<HelmRepository>> read_helm_repositories(const FileSystem& files, const Path& file);

/// The repository at that address, with the credentials that Helm has for it. Errors: Invalid (Helm has TLS
/// settings of its own for it, which nobody here reads).
Result<ChartServer> server_of(const std::string& repository, const std::vector<HelmRepository>& known,
                              PlainHttp plain);

/// True for the same address, but for slashes at its end.
bool is_same_repository(std::string_view a, std::string_view b);

}  // namespace mist::registry
