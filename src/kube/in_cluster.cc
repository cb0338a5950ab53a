#include "kube/in_cluster.h"

#include "base/text.h"

namespace mist::kube {
namespace {

const Path kMount = "/var/run/secrets/kubernetes.io/serviceaccount";

}  // namespace

Result<std::optional<ResolvedContext>> in_cluster_context(const FileSystem& fs, const Getenv& getenv) {
  const auto host = getenv("KUBERNETES_SERVICE_HOST");
  const auto port = getenv("KUBERNETES_SERVICE_PORT");
  if (!host || host->empty() || !port || port->empty() || !fs.exists(kMount / "token")) return std::nullopt;

  ResolvedContext context;
  context.name = "in-cluster";
  const bool ipv6 = host->find(':') != std::string::npos;
  context.cluster.name = context.name;
  context.cluster.server =
      ipv6 ? fmt::format("https://[{}]:{}", *host, *port) : fmt::format("https://{}:{}", *host, *port);
  context.cluster.certificate_authority = kMount / "ca.crt";
  context.user.name = "service account";
  context.user.token_file = kMount / "token";
  if (fs.exists(kMount / "namespace")) {
    auto ns = fs.read(kMount / "namespace", 4096);
    if (!ns) return std::move(ns).error().with_frame("while reading the Pod's namespace");
    if (const std::string_view name = trim(*ns); !name.empty()) context.ns = name;
  }
  return context;
}

}  // namespace mist::kube
