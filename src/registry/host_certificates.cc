#include "registry/host_certificates.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/text.h"
#include "config/redact.h"
#include "http/tls_report.h"
#include "oci/reference.h"
#include "registry/helm_repositories.h"

namespace mist::registry {
namespace {

using http::HostTls;
using http::Url;

constexpr std::uint64_t kMaxPem = std::uint64_t{4} << 20;
constexpr std::string_view kDockerHub = "docker.io";

// The names that a directory of the server may have, the likeliest first.
std::vector<std::string> names_of(const Url& url) {
  std::vector<std::string> names;
  const std::string origin = url.origin();
  const std::string with_port = url.authority();
  constexpr std::size_t kAfterScheme = 3;  // "://"
  std::string short_name = origin.substr(url.scheme.size() + kAfterScheme);
  if (short_name == oci::api_host(std::string(kDockerHub))) names.emplace_back(kDockerHub);
  names.push_back(short_name);
  if (with_port != short_name) names.push_back(with_port);
  return names;
}

Error unusable(const Path& file, std::string_view why, std::string hint) {
  return error(ErrorKind::Invalid, "{} {}", file.string(), why).with_hint(std::move(hint));
}

Result<std::string> read_certificates(const FileSystem& files, const Path& file) {
  MIST_TRY(std::string pem, files.read(file, kMaxPem));
  if (http::read_certificate(pem)) return pem;
  return unusable(
      file, "holds no certificate",
      "it must be PEM, with the line -----BEGIN CERTIFICATE-----; openssl x509 -inform DER converts "
      "the other form");
}

// The group may read it: a service of that group may have to.
Status check_only_ours(const Path& key) {
  struct stat facts{};
  if (::stat(key.c_str(), &facts) != 0 || (facts.st_mode & 027) == 0) return {};
  return unusable(key, "is a private key that others can read or change",
                  fmt::format("chmod 600 {}", key.string()));
}

// The text of a key is in no message.
Result<SecretString> read_key(const FileSystem& files, const Path& file) {
  MIST_TRY_VOID(check_only_ours(file));
  MIST_TRY(std::string text, files.read(file, kMaxPem));
  SecretString pem(std::move(text));
  if (pem.reveal().find("ENCRYPTED") != std::string::npos)
    return unusable(file, "is an encrypted private key, and nobody can be asked for its password",
                    "write it without one: openssl pkey -in ENCRYPTED.key -out CLIENT.key");
  if (pem.reveal().find("PRIVATE KEY-----") != std::string::npos) return pem;
  return unusable(file, "holds no private key", "it must be PEM, with the line -----BEGIN PRIVATE KEY-----");
}

struct Pair {
  Path certificate;
  Path key;
};

Status read_pair(const FileSystem& files, const Pair& pair, HostTls& into) {
  MIST_TRY(into.client_certificate_pem, read_certificates(files, pair.certificate));
  MIST_TRY(into.client_key_pem, read_key(files, pair.key));
  return {};
}

Path replaced(const Path& file, std::string_view extension) {
  Path other = file;
  other.replace_extension(extension);
  return other;
}

// Docker's and Podman's rules, and their refusals.
Result<std::optional<Pair>> pair_in(const std::vector<Path>& there) {
  const auto has = [&](const Path& file) { return std::ranges::find(there, file) != there.end(); };
  std::optional<Pair> pair;
  for (const Path& file : there) {
    if (file.extension() == ".key" && !has(replaced(file, ".cert")))
      return unusable(file, fmt::format("has no certificate {} beside it", replaced(file, ".cert").string()),
                      "put both there, or neither");
    if (file.extension() != ".cert") continue;
    const Path key = replaced(file, ".key");
    if (!has(key))
      return unusable(file, fmt::format("has no key {} beside it", key.string()),
                      "put both there, or neither; the certificate of an authority is called NAME.crt");
    if (pair)
      return unusable(file,
                      fmt::format("is a second client certificate beside {}", pair->certificate.string()),
                      "leave one of them: the server gets one");
    pair = Pair{file, key};
  }
  return pair;
}

Result<HostTls> read_directory(const FileSystem& files, const Path& directory) {
  MIST_TRY(const std::vector<DirectoryEntry> entries, files.list(directory));
  std::vector<Path> there;
  for (const DirectoryEntry& each : entries) {
    const Path file = directory / each.name;
    if (!files.is_directory(file)) there.push_back(file);  // a link in a volume of Kubernetes is a file
  }
  HostTls found;
  found.place = directory.string();
  for (const Path& file : there) {
    if (file.extension() != ".crt") continue;
    MIST_TRY(const std::string pem, read_certificates(files, file));
    found.ca_pem += pem + "\n";
  }
  MIST_TRY(const std::optional<Pair> pair, pair_in(there));
  if (pair) MIST_TRY_VOID(read_pair(files, *pair, found));
  return found;
}

// Over what a directory has: both say whom the user trusts, and the chart repository's own certificate wins.
Status read_settings(const FileSystem& files, const HelmRepository& repository, HostTls& into) {
  into.place = fmt::format("the entry {} of Helm's repositories.yaml", escape_controls(repository.name));
  if (repository.certificate_file.empty() != repository.key_file.empty())
    return error(ErrorKind::Invalid, "{} has {}", into.place,
                 repository.key_file.empty() ? "a certFile and no keyFile" : "a keyFile and no certFile")
        .with_hint("helm repo add --force-update NAME URL --cert-file FILE --key-file FILE");
  if (!repository.ca_file.empty()) {
    MIST_TRY(const std::string pem, read_certificates(files, repository.ca_file));
    into.ca_pem += pem + "\n";
  }
  if (!repository.key_file.empty())
    MIST_TRY_VOID(read_pair(files, {repository.certificate_file, repository.key_file}, into));
  return {};
}

class Finder {
 public:
  Finder(const FileSystem& files, const config::Environment& environment, ClientCertificates clients)
      : files_(files),
        directories_(certificate_directories(environment)),
        helm_file_(helm_repositories_file(environment)),
        clients_(clients) {}

  Result<std::shared_ptr<const HostTls>> find(const Url& url) {
    const std::lock_guard lock(mutex_);
    const HelmRepository* const repository = repository_of(url);
    const std::string key = repository != nullptr ? repository->url : url.origin();
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    MIST_TRY(HostTls found, read(url, repository));
    if (clients_ == ClientCertificates::Withhold) {
      found.client_certificate_pem.clear();
      found.client_key_pem = {};
      found.certificate_hint =
          "servers that a package names get no client certificate: name the package or the chart there "
          "yourself";
    }
    return known_.emplace(key, std::make_shared<const HostTls>(std::move(found))).first->second;
  }

 private:
  // Of those with certificates: the one that the URL is in, else one of the same host and port, whose charts
  // lie beside it.
  const HelmRepository* repository_of(const Url& url) {
    // Commands that need chart repositories read the file too, and say what is wrong with it; the others go
    // on.
    if (!repositories_)
      repositories_ = read_helm_repositories(files_, helm_file_).value_or(std::vector<HelmRepository>());
    const HelmRepository* best = nullptr;
    bool best_holds = false;
    for (const HelmRepository& each : *repositories_) {
      const Result<Url> there = Url::parse(each.url);
      if (!each.has_own_tls() || !there || there->origin() != url.origin()) continue;
      std::string beginning = there->path;
      if (!beginning.ends_with('/')) beginning += '/';
      const bool holds = (url.path + "/").starts_with(beginning);
      if (best != nullptr &&
          (best_holds > holds || (best_holds == holds && each.url.size() <= best->url.size())))
        continue;
      best = &each;
      best_holds = holds;
    }
    return best;
  }

  // The first that exists, else the one that would be asked first; the user's own, if there is a home.
  Path directory_of(const Url& url) const {
    const std::vector<std::string> names = names_of(url);
    for (const Path& directory : directories_)
      for (const std::string& name : names)
        if (files_.is_directory(directory / name)) return directory / name;
    return directories_.front() / names.front();
  }

  Result<HostTls> read(const Url& url, const HelmRepository* repository) const {
    const std::string frame = fmt::format("while reading the certificates for {}", url.authority());
    HostTls found;
    const Path directory = directory_of(url);
    // A host that isn't the name of a directory is none that can be connected to, either.
    const bool is_name = url.host.find('/') == std::string::npos && !url.host.starts_with('.');
    if (is_name && files_.is_directory(directory)) {
      MIST_TRY(found, read_directory(files_, directory).in(frame));
    }
    found.authority_hint = fmt::format(
        "put the certificate of the authority that signed it into {}/ as ca.crt, or add it to those of this "
        "machine",
        directory.string());
    found.certificate_hint =
        fmt::format("put it and its key into {}/ as client.cert and client.key", directory.string());
    if (repository != nullptr)
      MIST_TRY_VOID(read_settings(files_, *repository, found)
                        .in(fmt::format("{}, from Helm's repository {}", frame,
                                        escape_controls(config::redact_urls(repository->name)))));
    return found;
  }

  const FileSystem& files_;
  const std::vector<Path> directories_;
  const Path helm_file_;
  const ClientCertificates clients_;
  std::mutex mutex_;
  std::optional<std::vector<HelmRepository>> repositories_;      // guarded by mutex_
  std::map<std::string, std::shared_ptr<const HostTls>> known_;  // guarded by mutex_; by server
};

}  // namespace

std::vector<Path> certificate_directories(const config::Environment& environment) {
  const auto given = [&](std::string_view name) {
    return environment ? environment(name).value_or(std::string()) : std::string();
  };
  std::vector<Path> all;
  Path config = given("XDG_CONFIG_HOME");
  if (const std::string home = given("HOME"); config.empty() && !home.empty())
    config = Path(home) / ".config";
  if (!config.empty())
    for (const std::string_view tool : {"containers", "docker"}) all.push_back(config / tool / "certs.d");
  for (const std::string_view tool : {"containers", "docker"}) all.push_back(Path("/etc") / tool / "certs.d");
  return all;
}

http::FindHostTls host_certificates(const FileSystem& files, const config::Environment& environment,
                                    ClientCertificates clients) {
  return [finder = std::make_shared<Finder>(files, environment, clients)](const Url& url) {
    return finder->find(url);
  };
}

}  // namespace mist::registry
