#include "kube/api_path.h"

#include "http/url.h"

namespace mist::kube {

using http::escape_segment;

std::string collection_path(const ResourceInfo& resource, const std::string& ns) {
  const GroupVersionKind& gvk = resource.gvk;
  std::string path = gvk.group.empty() ? "/api/" : fmt::format("/apis/{}/", escape_segment(gvk.group));
  path += escape_segment(gvk.version);
  if (resource.namespaced && !ns.empty()) path += "/namespaces/" + escape_segment(ns);
  return path + "/" + escape_segment(resource.resource);
}

std::string object_path(const ObjectRef& ref) {
  return collection_path(ref.resource, ref.ns) + "/" + escape_segment(ref.name);
}

}  // namespace mist::kube
