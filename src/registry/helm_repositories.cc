#include "registry/helm_repositories.h"

#include "base/text.h"
#include "config/redact.h"
#include "encoding/yaml.h"

namespace mist::registry {
namespace {

std::string_view without_slashes(std::string_view url) {
  while (url.ends_with('/')) url.remove_suffix(1);
  return url;
}

}  // namespace

Path helm_repositories_file(const config::Environment& environment) {
  constexpr std::string_view kFile = "repositories.yaml";
  const auto given = [&](std::string_view name) {
    return environment ? environment(name).value_or(std::string()) : std::string();
  };
  if (const std::string file = given("HELM_REPOSITORY_CONFIG"); !file.empty()) return file;
  if (const std::string home = given("HELM_CONFIG_HOME"); !home.empty()) return Path(home) / kFile;
  if (const std::string home = given("XDG_CONFIG_HOME"); !home.empty()) return Path(home) / "helm" / kFile;
  if (const std::string home = given("HOME"); !home.empty()) return Path(home) / ".config/helm" / kFile;
  return {};
}

Result<std::vector<HelmRepository>> read_helm_repositories(const FileSystem& files, const Path& file) {
  std::vector<HelmRepository> all;
  if (file.empty() || !files.exists(file)) return all;
  MIST_TRY(const std::string text, files.read(file, 16u << 20));
  encoding::YamlOptions options;
  options.file = file.string();
  MIST_TRY(const encoding::Value document, encoding::parse_yaml(text, options));
  const encoding::Value* const list = document.find("repositories");
  if (list == nullptr || !list->is_array()) return all;
  for (const encoding::Value& each : list->as_array()) {
    HelmRepository one{std::string(each.string_at("name")), std::string(each.string_at("url"))};
    one.username = each.string_at("username");
    one.password = each.string_at("password");
    one.everywhere = each.is_true_at("pass_credentials_all");
    one.ca_file = each.string_at("caFile");
    one.certificate_file = each.string_at("certFile");
    one.key_file = each.string_at("keyFile");
    one.unverified = each.is_true_at("insecure_skip_tls_verify");
    if (!one.name.empty() && !one.url.empty()) all.push_back(std::move(one));
  }
  return all;
}

Result<ChartServer> server_of(const std::string& repository, const std::vector<HelmRepository>& known,
                              PlainHttp plain) {
  ChartServer server{repository};
  server.plain = plain;
  for (const HelmRepository& each : known) {
    if (!is_same_repository(each.url, repository)) continue;
    if (each.unverified)
      return error(ErrorKind::Invalid, "the TLS certificate of the repository {} would not be checked",
                   escape_controls(config::redact_urls(each.name)))
          .with_because("its entry in Helm's repositories.yaml has insecure_skip_tls_verify: true")
          .with_hint(
              "remove it there, and name the authority that signed the server's certificate: `helm repo add "
              "--force-update --ca-file FILE`");
    server.username = each.username;
    server.password = each.password;
    server.everywhere = each.everywhere;
    break;
  }
  return server;
}

bool is_same_repository(std::string_view a, std::string_view b) {
  return without_slashes(a) == without_slashes(b);
}

}  // namespace mist::registry
