// kubeconfig files: any bytes are one or a good error, and each context can be resolved or says why not.
#include "kube/kubeconfig.h"

#include "one_file.h"
#include "targets.h"

namespace mist::fuzz {

void kubeconfig(std::string_view bytes) {
  const Path path = "/home/alice/.kube/config";
  const OneFile file(path, bytes);
  const auto config = kube::Kubeconfig::load({.paths = {path}, .must_exist = true}, file);
  if (!config.ok()) {
    check_error(config.error());
    if (config.error().where && !config.error().where->excerpt.empty())
      fail("a line that may hold a token", config.error().where->excerpt);
    return;
  }
  std::vector<std::string> names = config->context_names();
  names.emplace_back();
  names.emplace_back("nobody's");
  for (const std::string& name : names) {
    const auto context = config->resolve(name);
    if (!context.ok()) {
      check_error(context.error());
      continue;
    }
    for (const Path& each : {context->cluster.certificate_authority, context->user.client_certificate,
                             context->user.client_key, context->user.token_file})
      if (!each.empty() && !each.is_absolute()) fail("a relative path", each.string());
  }
}

}  // namespace mist::fuzz
