#pragma once
// Credentials for registries, where Docker's, Podman's and Helm's tools keep them, so that a login with any
// of them counts. Read are, the first that knows the host wins:
//
//   REGISTRY_AUTH_FILE, if it is set (as Podman's --authfile), else $DOCKER_CONFIG/config.json, else
//   ~/.docker/config.json
//   Helm's: HELM_REGISTRY_CONFIG, else $HELM_CONFIG_HOME/registry/config.json, else below
//   XDG_CONFIG_HOME/helm or ~/.config/helm Podman's: $XDG_RUNTIME_DIR/containers/auth.json
//
// In each the members `credHelpers`, `credsStore` (programs docker-credential-NAME) and `auths`, in that
// order. Written is the first one. Any thread; nothing is kept in memory.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/fs.h"
#include "base/process.h"
#include "base/result.h"
#include "base/secret.h"
#include "config/paths.h"
#include "oci/reference.h"

namespace mist::registry {

/// A password, or an identity token (OAuth2 refresh token) in its place.
struct Login {
  std::string user;
  SecretString password;
  SecretString identity_token = {};
  friend bool operator==(const Login&, const Login&) = default;
};

/// Where somebody may remove a login, for people.
struct KeptLogin {
  std::string name;    ///< "registry.example", "registry.example/team"
  std::string place;   ///< a file, or a helper's name
  std::string logout;  ///< "helm registry logout registry.example"; empty: no command removes it
};

class DockerConfig {
 public:
  struct Dependencies {
    FileSystem& files;
    ProcessRunner& processes;
    config::Environment environment;
  };
  explicit DockerConfig(Dependencies dependencies) : dependencies_(std::move(dependencies)) {}

  /// `path`: of the repository; Podman's files may have a login for a part of a registry. Errors: Invalid (a
  /// file that can't be understood), Internal (a helper failed), NotFound (there is no such helper),
  /// Cancelled, of FileSystem.
  Result<std::optional<Login>> find(const std::string& host, const std::string& path,
                                    const Context& context) const;
  /// Says where it went, for people: a file, or a helper's name. The rest of the file stays as it is.
  Result<std::string> store(const std::string& host, const Login& login, const Context& context) const;
  /// Where it was, in the first file or its helper; nothing: there was none. Other files keep theirs.
  Result<std::optional<std::string>> erase(const std::string& host, const Context& context) const;
  /// A login that find() gives for the registry or for a part of it; nothing: there is none in any file.
  Result<std::optional<KeptLogin>> kept(const std::string& host, const Context& context) const;

  /// The files that are read, whether they exist or not; the first is written.
  std::vector<Path> files() const;

 private:
  struct CredentialFile {
    Path file;
    std::string_view logout;  ///< the command of the tool that keeps its logins there
  };
  std::vector<CredentialFile> credential_files() const;

  Dependencies dependencies_;
};

}  // namespace mist::registry
