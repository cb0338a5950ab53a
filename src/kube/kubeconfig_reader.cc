#include "kube/kubeconfig_reader.h"

#include <set>

#include "base/text.h"
#include "encoding/yaml.h"

namespace mist::kube {
namespace {

constexpr std::string_view kExecGroup = "client.authentication.k8s.io/";

}  // namespace

KubeconfigReader::KubeconfigReader(const Path& path, Kubeconfig& into) : file_(path.string()), into_(into) {
  std::error_code failure;  // no working directory: what is relative stays so
  const Path absolute = std::filesystem::absolute(path, failure);
  directory_ = (failure ? path : absolute).parent_path();
}

SourceLocation KubeconfigReader::location(const Value& value) const {
  return {.file = file_, .line = value.position().line, .column = value.position().column, .excerpt = {}};
}

Error KubeconfigReader::at(const Value& value, std::string message) const {
  return error(ErrorKind::Invalid, "{}", message).at(location(value));
}

Result<std::string> KubeconfigReader::text(const Value& map, std::string_view field) const {
  const Value* value = map.find(field);
  if (value == nullptr || value->is_null()) return std::string();
  if (!value->is_string())
    return at(*value, fmt::format("{} must be a string, not {}: put it in quotes", field,
                                  encoding::kind_name(value->kind())));
  return value->as_string();
}

Result<bool> KubeconfigReader::flag(const Value& map, std::string_view field) const {
  const Value* value = map.find(field);
  if (value == nullptr || value->is_null()) return false;
  if (!value->is_bool())
    return at(*value,
              fmt::format("{} must be true or false, not {}", field, encoding::kind_name(value->kind())));
  return value->as_bool();
}

Result<std::vector<std::string>> KubeconfigReader::texts(const Value& map, std::string_view field) const {
  std::vector<std::string> result;
  const Value* value = map.find(field);
  if (value == nullptr || value->is_null()) return result;
  if (!value->is_array()) return at(*value, fmt::format("{} must be a list of strings", field));
  for (const Value& item : value->as_array()) {
    if (!item.is_string())
      return at(item, fmt::format("an item of {} must be a string: put it in quotes", field));
    result.push_back(item.as_string());
  }
  return result;
}

Result<std::string> KubeconfigReader::decoded(const Value& map, std::string_view field) const {
  MIST_TRY(const std::string encoded, text(map, field));
  // Line breaks of folded YAML are no part of the data.
  std::string compact;
  for (const char c : encoded)
    if (c != '\n' && c != '\r' && c != ' ') compact += c;
  std::string bytes;
  if (!base64_decode(compact, bytes)) return at(*map.find(field), fmt::format("{} is not base64", field));
  return bytes;
}

Result<Path> KubeconfigReader::path(const Value& map, std::string_view field) const {
  MIST_TRY(const std::string name, text(map, field));
  if (name.empty()) return Path();
  return (directory_ / name).lexically_normal();
}

Status KubeconfigReader::read(std::string_view source) {
  encoding::YamlOptions options;
  options.file = file_;
  auto parsed = encoding::parse_yaml(source, options);
  if (!parsed) {
    Error failure = std::move(parsed).error();
    if (failure.where) failure.where->excerpt.clear();  // it may hold a token
    return failure;
  }
  if (parsed->is_null()) return {};
  if (!parsed->is_object())
    return at(*parsed,
              fmt::format("a kubeconfig must be a mapping, not {}", encoding::kind_name(parsed->kind())));
  const Value& root = *parsed;
  MIST_TRY(const std::string kind, text(root, "kind"));
  if (!kind.empty() && kind != "Config")
    return at(*root.find("kind"), fmt::format("this is not a kubeconfig: its kind is {}, not Config", kind));

  // The first file that names one counts, whether it can be used or not.
  const auto each_usable = [&](std::string_view list, std::string_view inner, const auto& usable,
                               std::map<std::string, Error>& broken, auto reads) {
    return each_named(
        root, list, inner, [&](const std::string& name, const Value& named, const Value& entry) -> Status {
          if (usable.contains(name) || broken.contains(name)) return {};
          if (Status done = (this->*reads)(name, named, entry); !done)
            broken.emplace(name,
                           std::move(done).error().with_frame(fmt::format("in the {} \"{}\"", inner, name)));
          return {};
        });
  };
  MIST_TRY_VOID(each_usable("clusters", "cluster", into_.clusters_, into_.broken_clusters_,
                            &KubeconfigReader::read_cluster));
  MIST_TRY_VOID(
      each_usable("users", "user", into_.users_, into_.broken_users_, &KubeconfigReader::read_user));
  MIST_TRY_VOID(each_named(root, "contexts", "context",
                           [&](const std::string& name, const Value& named, const Value& inner) {
                             return read_context(name, named, inner);
                           }));
  MIST_TRY(const std::string current, text(root, "current-context"));
  if (into_.current_context_.empty() && !current.empty()) {
    into_.current_context_ = current;
    into_.current_context_at_ = location(*root.find("current-context"));
  }
  return {};
}

template <typename Read>
Status KubeconfigReader::each_named(const Value& root, std::string_view list, std::string_view inner,
                                    Read&& read) {
  const Value* items = root.find(list);
  if (items == nullptr || items->is_null()) return {};
  if (!items->is_array()) return at(*items, fmt::format("{} must be a list", list));
  std::set<std::string> seen;
  for (const Value& named : items->as_array()) {
    if (!named.is_object())
      return at(named, fmt::format("an item of {} must be a mapping with a name", list));
    MIST_TRY(const std::string name, text(named, "name"));
    if (!seen.insert(name).second)
      return at(named, fmt::format("two items of {} have the name \"{}\"", list, name));
    static const Value kNothing = Value::object();
    const Value* entry = named.find(inner);
    if (entry == nullptr || entry->is_null()) entry = &kNothing;
    if (!entry->is_object()) return at(*entry, fmt::format("{} of \"{}\" must be a mapping", inner, name));
    MIST_TRY_VOID(read(name, named, *entry).in(fmt::format("in the {} \"{}\"", inner, name)));
  }
  return {};
}

Status KubeconfigReader::read_cluster(const std::string& name, const Value& named, const Value& cluster) {
  ClusterEntry entry;
  entry.name = name;
  entry.where = location(named);
  MIST_TRY(entry.server, text(cluster, "server"));
  MIST_TRY(entry.certificate_authority, path(cluster, "certificate-authority"));
  MIST_TRY(entry.ca_pem, decoded(cluster, "certificate-authority-data"));
  MIST_TRY(entry.tls_server_name, text(cluster, "tls-server-name"));
  MIST_TRY(entry.proxy_url, text(cluster, "proxy-url"));
  MIST_TRY(entry.insecure_skip_tls_verify, flag(cluster, "insecure-skip-tls-verify"));
  MIST_TRY(entry.disable_compression, flag(cluster, "disable-compression"));
  if (entry.insecure_skip_tls_verify && (!entry.ca_pem.empty() || !entry.certificate_authority.empty()))
    return at(*cluster.find("insecure-skip-tls-verify"),
              "certificate-authority and insecure-skip-tls-verify exclude each other: remove one");
  if (const Value* extensions = cluster.find("extensions"); extensions != nullptr && extensions->is_array())
    for (const Value& extension : extensions->as_array())
      if (extension.string_at("name") == "client.authentication.k8s.io/exec")
        if (const Value* content = extension.find("extension")) entry.exec_extension = *content;
  into_.clusters_.emplace(name, std::move(entry));
  return {};
}

Status KubeconfigReader::read_user(const std::string& name, const Value& named, const Value& user) {
  UserEntry entry;
  entry.name = name;
  entry.where = location(named);
  if (const Value* provider = user.find("auth-provider"); provider != nullptr && !provider->is_null())
    return at(*provider,
              fmt::format("the user \"{}\" has auth-provider \"{}\", which Kubernetes removed in 1.26", name,
                          provider->string_at("name")))
        .with_hint("configure the provider's exec plugin instead (gke-gcloud-auth-plugin, kubelogin, …)");
  MIST_TRY(entry.client_certificate, path(user, "client-certificate"));
  MIST_TRY(entry.client_certificate_pem, decoded(user, "client-certificate-data"));
  MIST_TRY(entry.client_key, path(user, "client-key"));
  MIST_TRY(std::string key, decoded(user, "client-key-data"));
  entry.client_key_pem = SecretString(std::move(key));
  MIST_TRY(std::string token, text(user, "token"));
  entry.token = SecretString(std::move(token));
  MIST_TRY(entry.token_file, path(user, "tokenFile"));
  MIST_TRY(entry.username, text(user, "username"));
  MIST_TRY(std::string password, text(user, "password"));
  entry.password = SecretString(std::move(password));
  MIST_TRY(entry.impersonation.user, text(user, "as"));
  MIST_TRY(entry.impersonation.uid, text(user, "as-uid"));
  MIST_TRY(entry.impersonation.groups, texts(user, "as-groups"));
  if (const Value* extra = user.find("as-user-extra"); extra != nullptr && extra->is_object())
    for (const Value::Member& member : extra->as_object()) {
      MIST_TRY(const std::vector<std::string> values, texts(*extra, member.key));
      for (const std::string& value : values) entry.impersonation.extra.emplace_back(member.key, value);
    }
  if (const Value* exec = user.find("exec"); exec != nullptr && !exec->is_null()) {
    MIST_TRY(entry.exec, read_exec(*exec, name));
  }

  const auto refuse = [&](std::string_view why) {
    return at(named, fmt::format("the user \"{}\" can't be used: {}", name, why));
  };
  const bool has_certificate = !entry.client_certificate.empty() || !entry.client_certificate_pem.empty();
  const bool has_key = !entry.client_key.empty() || !entry.client_key_pem.empty();
  if (has_certificate != has_key)
    return refuse(has_key ? "it has a client key without client-certificate"
                          : "it has a client certificate without client-key");
  if (!entry.username.empty() && (!entry.token.empty() || !entry.token_file.empty()))
    return refuse("it has both a token and a username: only one is allowed");
  const Impersonation& as = entry.impersonation;
  if (as.user.empty() && (!as.uid.empty() || !as.groups.empty() || !as.extra.empty()))
    return refuse("as-uid, as-groups and as-user-extra need \"as\"");
  into_.users_.emplace(name, std::move(entry));
  return {};
}

Result<ExecEntry> KubeconfigReader::read_exec(const Value& exec, std::string_view user) const {
  if (!exec.is_object()) return at(exec, "exec must be a mapping");
  ExecEntry entry;
  MIST_TRY(entry.api_version, text(exec, "apiVersion"));
  const bool v1 = entry.api_version == "client.authentication.k8s.io/v1";
  if (!v1 && entry.api_version != "client.authentication.k8s.io/v1beta1")
    return at(exec, entry.api_version.empty()
                        ? fmt::format("exec of the user \"{}\" has no apiVersion", user)
                        : fmt::format("exec of the user \"{}\" speaks {}", user, entry.api_version))
        .with_hint(fmt::format("use {}v1 (or v1beta1), and a plugin that speaks it", kExecGroup));
  MIST_TRY(entry.command, text(exec, "command"));
  if (entry.command.empty()) return at(exec, fmt::format("exec of the user \"{}\" has no command", user));
  if (entry.command.find('/') != std::string::npos)
    entry.command = (directory_ / entry.command).lexically_normal();
  MIST_TRY(entry.arguments, texts(exec, "args"));
  if (const Value* env = exec.find("env"); env != nullptr && !env->is_null()) {
    if (!env->is_array()) return at(*env, "exec.env must be a list of mappings with name and value");
    for (const Value& variable : env->as_array()) {
      if (!variable.is_object())
        return at(variable, "an item of exec.env must be a mapping with name and value");
      MIST_TRY(std::string name, text(variable, "name"));
      MIST_TRY(std::string value, text(variable, "value"));
      if (name.empty()) return at(variable, "an item of exec.env has no name");
      entry.env.emplace_back(std::move(name), std::move(value));
    }
  }
  MIST_TRY(entry.install_hint, text(exec, "installHint"));
  MIST_TRY(entry.provide_cluster_info, flag(exec, "provideClusterInfo"));
  MIST_TRY(const std::string mode, text(exec, "interactiveMode"));
  if (mode == "Never")
    entry.interactive = Interactive::Never;
  else if (mode == "Always")
    entry.interactive = Interactive::Always;
  else if (!mode.empty() && mode != "IfAvailable")
    return at(*exec.find("interactiveMode"),
              fmt::format("interactiveMode is Never, IfAvailable or Always, not \"{}\"", mode));
  else if (mode.empty() && v1)
    return at(exec, fmt::format("exec of the user \"{}\" has no interactiveMode, which {} demands", user,
                                entry.api_version))
        .with_hint("add interactiveMode: IfAvailable");
  return entry;
}

Status KubeconfigReader::read_context(const std::string& name, const Value& named, const Value& context) {
  if (into_.contexts_.contains(name)) return {};
  Kubeconfig::ContextEntry entry;
  entry.where = location(named);
  MIST_TRY(entry.cluster, text(context, "cluster"));
  MIST_TRY(entry.user, text(context, "user"));
  MIST_TRY(entry.ns, text(context, "namespace"));
  into_.contexts_.emplace(name, std::move(entry));
  return {};
}

}  // namespace mist::kube
