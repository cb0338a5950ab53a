#include "kube/service_proxy.h"

#include "base/text.h"

namespace mist::kube {

std::string ProxyRequest::display() const {
  return fmt::format("{}://{}{}{}{}{}", scheme, target == Target::Pod ? "pod " : "", name,
                     port.empty() ? "" : ":", port, path);
}

Result<std::string> proxied_get(Client& client, const ProxyRequest& request, const Context& context) {
  auto* proxy = dynamic_cast<ServiceProxy*>(&client);
  if (proxy == nullptr) return error(ErrorKind::Invalid, "{} reaches no services", client.describe());
  return proxy->proxied_get(request, context);
}

}  // namespace mist::kube
