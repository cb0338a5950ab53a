#include "kube/served.h"

#include <algorithm>

namespace mist::kube {

bool is_served_nowhere(Client& client, std::string_view group, const Error& failure, const Context& context) {
  if (failure.kind != ErrorKind::NotFound) return false;
  const auto down = client.apis_down(context);
  return down.ok() && std::ranges::find(*down, group, &DownApi::group) == down->end();
}

}  // namespace mist::kube
