#pragma once
// kubeconfig files: which ones, how they merge, and what a context means. The rules are kubectl's
// (client-go tools/clientcmd): --kubeconfig names the only file; else KUBECONFIG lists files, of which
// missing ones are skipped; else ~/.kube/config. The first file that has an entry wins, whole; so does the
// first that sets current-context. Relative paths in a file are relative to that file. Plain values and
// functions; any thread.
//
// Errors are Invalid or NotFound, with file, line and column. Nothing of an entry's secrets is ever in them.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fs.h"
#include "base/result.h"
#include "base/secret.h"
#include "encoding/value.h"

namespace mist::kube {

/// As getenv; nullopt: not set.
using Getenv = std::function<std::optional<std::string>(std::string_view name)>;

struct ClusterEntry {
  std::string name;
  SourceLocation where;
  std::string server;          ///< "https://host:port/base"
  Path certificate_authority;  ///< absolute; empty: none
  std::string ca_pem;          ///< from certificate-authority-data; wins over the file
  std::string tls_server_name;
  std::string proxy_url;
  bool insecure_skip_tls_verify = false;
  bool disable_compression = false;
  encoding::Value exec_extension;  ///< extension client.authentication.k8s.io/exec, for plugins; null: none
};

enum class Interactive : std::uint8_t { Never, IfAvailable, Always };

/// An exec credential plugin (KEP-541).
struct ExecEntry {
  std::string api_version;  ///< client.authentication.k8s.io/v1 or …/v1beta1
  std::string command;      ///< absolute if it had a slash
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> env;
  std::string install_hint;
  bool provide_cluster_info = false;
  Interactive interactive = Interactive::IfAvailable;
};

struct Impersonation {
  std::string user, uid;
  std::vector<std::string> groups;
  std::vector<std::pair<std::string, std::string>> extra;  ///< a key may stand several times
};

struct UserEntry {
  std::string name;
  SourceLocation where;
  Path client_certificate, client_key;  ///< absolute; empty: none
  std::string client_certificate_pem;   ///< from client-certificate-data; wins over the file
  SecretString client_key_pem;
  SecretString token;
  Path token_file;  ///< wins over `token`
  std::string username;
  SecretString password;
  std::optional<ExecEntry> exec;
  Impersonation impersonation;
};

/// A context with the entries that it names.
struct ResolvedContext {
  std::string name;  ///< "in-cluster" for the Pod's own
  ClusterEntry cluster;
  UserEntry user;
  std::string ns = "default";
};

/// Which files to read.
struct KubeconfigFiles {
  std::vector<Path> paths;
  bool must_exist = false;  ///< --kubeconfig: a missing file is an error
  /// `chosen` is the value of --kubeconfig; empty: not given.
  static KubeconfigFiles choose(const std::string& chosen, const Getenv& getenv);
};

class Kubeconfig {
 public:
  /// An empty result, not an error, if no file exists and none has to.
  static Result<Kubeconfig> load(const KubeconfigFiles& files, const FileSystem& fs);

  bool empty() const {
    return contexts_.empty() && clusters_.empty() && users_.empty() && broken_clusters_.empty() &&
           broken_users_.empty();
  }
  const std::string& current_context() const { return current_context_; }
  std::vector<std::string> context_names() const;

  /// The context `name`, or the current one if `name` is empty. A name that nothing defines is an error that
  /// lists what there is and suggests the nearest.
  Result<ResolvedContext> resolve(const std::string& name) const;

 private:
  friend class KubeconfigReader;
  struct ContextEntry {
    SourceLocation where;
    std::string cluster, user, ns;
  };
  std::string described_files() const;

  std::vector<std::string> files_;  // those that were read, as the user knows them
  std::map<std::string, ClusterEntry> clusters_;
  std::map<std::string, UserEntry> users_;
  // An unusable cluster or user is an error only when it is asked for, as in kubectl.
  std::map<std::string, Error> broken_clusters_;
  std::map<std::string, Error> broken_users_;
  std::map<std::string, ContextEntry> contexts_;
  std::string current_context_;
  SourceLocation current_context_at_;
};

}  // namespace mist::kube
