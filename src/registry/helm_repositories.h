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
  bool everywhere = false;     ///< the credentials go to other hosts too (pass_credentials_all)
  Path ca_file = {};           ///< what signed its certificate, beside the system's authorities; PEM
  Path certificate_file = {};  ///< the client certificate that it gets; PEM
  Path key_file = {};
  bool unverified = false;  ///< Helm doesn't check its certificate (insecure_skip_tls_verify): refused here

  bool has_own_tls() const { return !ca_file.empty() || !certificate_file.empty() || !key_file.empty(); }
};

/// $HELM_REPOSITORY_CONFIG, else repositories.yaml in $HELM_CONFIG_HOME, $XDG_CONFIG_HOME/helm or
/// ~/.config/helm. Empty: there is no home.
Path helm_repositories_file(const config::Environment& environment);

/// Nothing if there is no such file. Errors: Invalid.
Result<std::vector<HelmRepository>> read_helm_repositories(const FileSystem& files, const Path& file);

/// The repository at that address, with the credentials that Helm has for it; its certificates are the
/// transport's (host_certificates.h). Errors: Invalid (Helm doesn't check its certificate).
Result<ChartServer> server_of(const std::string& repository, const std::vector<HelmRepository>& known,
                              PlainHttp plain);

/// True for the same address, but for slashes at its end.
bool is_same_repository(std::string_view a, std::string_view b);

}  // namespace mist::registry
