#include "kube/credentials.h"

#include "base/text.h"
#include "kube/auth_exec.h"

namespace mist::kube {
namespace {

constexpr std::uint64_t kLargestPem = 4 << 20;

// `inline_text` wins over the file, as in kubectl. `label` is what PEM calls it.
Result<std::string> read_pem(const std::string& inline_text, const Path& file, std::string_view field,
                             std::string_view owner, std::string_view label, const FileSystem& fs,
                             const SourceLocation& where) {
  std::string text = inline_text;
  if (text.empty()) {
    if (file.empty()) return text;
    auto read = fs.read(file, kLargestPem);
    if (!read)
      return std::move(read)
          .error()
          .with_frame(fmt::format("while reading {} of {}", field, owner))
          .at(where);
    text = *std::move(read);
  }
  const std::string source = inline_text.empty() ? file.string() : fmt::format("{}-data", field);
  if (text.find("-----BEGIN") == std::string::npos || text.find(label) == std::string::npos)
    return error(ErrorKind::Invalid, "{} of {} holds no {} in PEM form ({})", field, owner,
                 label == "CERTIFICATE" ? "certificate" : "private key", source)
        .at(where);
  if (label == "PRIVATE KEY" && text.find("ENCRYPTED") != std::string::npos)
    return error(ErrorKind::Invalid,
                 "{} of {} is encrypted, which a kubeconfig can't give a password for ({})", field, owner,
                 source)
        .with_hint("decrypt it: openssl pkey -in KEY -out PLAIN_KEY")
        .at(where);
  return text;
}

}  // namespace

Result<std::string> read_ca(const ClusterEntry& cluster, const FileSystem& fs) {
  return read_pem(cluster.ca_pem, cluster.certificate_authority, "certificate-authority",
                  fmt::format("the cluster \"{}\"", cluster.name), "CERTIFICATE", fs, cluster.where);
}

namespace {

Result<std::pair<std::string, SecretString>> read_pair(const UserEntry& user, const FileSystem& fs) {
  const std::string owner = fmt::format("the user \"{}\"", user.name);
  MIST_TRY(std::string certificate, read_pem(user.client_certificate_pem, user.client_certificate,
                                             "client-certificate", owner, "CERTIFICATE", fs, user.where));
  MIST_TRY(std::string key, read_pem(user.client_key_pem.reveal(), user.client_key, "client-key", owner,
                                     "PRIVATE KEY", fs, user.where));
  return std::pair{std::move(certificate), SecretString(std::move(key))};
}

Result<std::unique_ptr<CredentialSource>> source_of(const ResolvedContext& context,
                                                    std::shared_ptr<ClusterCa> ca, Credential base,
                                                    const CredentialDependencies& dependencies) {
  const UserEntry& user = context.user;
  const std::string owner = fmt::format("the user \"{}\"", user.name);
  std::unique_ptr<CredentialSource> source;
  if (!user.token_file.empty()) {
    source = std::make_unique<TokenFileCredentials>(user.token_file, std::move(base), dependencies.fs,
                                                    dependencies.clock);
    return source;
  }
  if (!user.token.empty()) {
    auto token = bearer(user.token.reveal(), fmt::format("the entry of {}", owner));
    if (!token) return std::move(token).error().at(user.where);
    base.authorization = *std::move(token);
  } else if (!user.username.empty()) {
    base.authorization =
        SecretString("Basic " + base64_encode(fmt::format("{}:{}", user.username, user.password.reveal())));
  } else if (user.exec) {
    source = std::make_unique<ExecCredentials>(
        *user.exec, user.name, context.cluster, std::move(ca), std::move(base),
        ExecCredentials::Dependencies{dependencies.processes, dependencies.clock, dependencies.events,
                                      dependencies.interactive_terminal});
    return source;
  }
  source = std::make_unique<StaticCredentials>(std::move(base));
  return source;
}

}  // namespace

Result<std::unique_ptr<CredentialSource>> make_credentials(const ResolvedContext& context,
                                                           std::shared_ptr<ClusterCa> ca,
                                                           const CredentialDependencies& dependencies) {
  const UserEntry& user = context.user;
  MIST_TRY(auto pair, read_pair(user, dependencies.fs));
  Credential base;
  base.client_certificate_pem = pair.first;
  base.client_key_pem = pair.second;
  MIST_TRY(auto source, source_of(context, std::move(ca), std::move(base), dependencies));
  const bool rotates = user.client_certificate_pem.empty() && !user.client_certificate.empty();
  if (!rotates) return source;
  source = std::make_unique<CertificateFileCredentials>(
      std::move(source), [user, &fs = dependencies.fs] { return read_pair(user, fs); }, std::move(pair),
      dependencies.clock);
  return source;
}

}  // namespace mist::kube
