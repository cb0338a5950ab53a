// K3.yaml of a Kube: any bytes are one or an error with its place.
#include "kpm/k3.h"

#include "base/text.h"
#include "targets.h"

namespace mist::fuzz {

void k3(std::string_view bytes) {
  const auto k3 = kpm::parse_k3(bytes, "K3.yaml");
  if (!k3.ok()) {
    check_error(k3.error());
    if (!k3.error().where || k3.error().where->file != "K3.yaml")
      fail("an error without place", k3.error().to_line());
    return;
  }
  if (!is_dns1123_label(k3->name)) fail("a name that is none", k3->name);
  for (const kpm::Dependency& dependency : k3->dependencies)
    if (!is_dns1123_label(dependency.name)) fail("a dependency's name that is none", dependency.name);
  (void)k3->full_name();
}

}  // namespace mist::fuzz
